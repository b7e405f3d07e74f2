package rules

import (
	"strings"
	"unicode"

	"github.com/toolstream/toolstream/pkg/schema"
)

// language guesses the language of a document's prose.
func language(d schema.Document) string {
	var b strings.Builder
	b.WriteString(d.Description)
	for _, p := range d.Parameters {
		if b.Len() > maxDescription {
			break
		}
		b.WriteString(" " + p.Description)
	}
	return Language(b.String())
}

// Language guesses the language of prose (BCP 47): by script where that
// decides, by the most frequent function words where the script is Latin. A
// text too short to tell has none.
func Language(s string) string {
	letters, scripts := countScripts(s)
	if letters < 4 {
		return ""
	}
	// Where Japanese is written, kana stand among the Han characters.
	if scripts["ja"] > 0 && scripts["ja"]*4 >= scripts["zh"] && (scripts["ja"]+scripts["zh"])*3 >= letters {
		return "ja"
	}
	for _, tag := range scriptTags {
		if scripts[tag]*3 >= letters {
			return tag
		}
	}
	return latin(s)
}

var (
	scriptTags   = []string{"zh", "ko", "ru", "ar", "he", "el", "th", "hi"}
	scriptTables = map[string]*unicode.RangeTable{
		"zh": unicode.Han, "ko": unicode.Hangul, "ru": unicode.Cyrillic, "ar": unicode.Arabic, "he": unicode.Hebrew,
		"el": unicode.Greek, "th": unicode.Thai, "hi": unicode.Devanagari,
	}
)

// countScripts counts letters by the language that their script suggests.
func countScripts(s string) (letters int, scripts map[string]int) {
	scripts = map[string]int{}
	for _, r := range s {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if r < 0x250 {
			continue
		}
		if unicode.In(r, unicode.Hiragana, unicode.Katakana) {
			scripts["ja"]++
			continue
		}
		for tag, table := range scriptTables {
			if unicode.Is(table, r) {
				scripts[tag]++
			}
		}
	}
	return letters, scripts
}

// latin decides between languages by their function words: at least two of
// them, and clearly more than of the next language.
func latin(s string) string {
	hits := map[string]int{}
	for w := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) }) {
		for _, tag := range functionWords[w] {
			hits[tag]++
		}
	}
	best, second := "", 0
	for _, tag := range keys(hits) {
		if hits[tag] > hits[best] {
			best, second = tag, hits[best]
		} else {
			second = max(second, hits[tag])
		}
	}
	if hits[best] < 2 || hits[best]*2 < second*3 {
		return ""
	}
	return best
}

// functionWords holds the languages that a word is frequent in.
var functionWords = languagesByWord(map[string]string{
	"en": "the of and to in is for that with this by from are be or it as an which you your if not will can has get list create update delete retrieve search returns given using all new based",
	"de": "der die das und ist von mit für den des ein eine zu auf nicht werden wird oder im dem bei aus sind nach",
	"fr": "le la les des du et est pour une dans par sur avec ce que qui au aux ou sont cette pas de votre",
	"es": "el la los las de del y es para una en por con que se un al o su lista esta como más",
	"pt": "o os as do da dos das e é para uma em por com que um no na ou não seu sua ao mais",
	"it": "il lo gli di del della e è per una in con che un al dei delle nel da sono questo",
	"nl": "de het een van en is voor met op dat te in aan zijn wordt door niet of bij deze uit",
	"pl": "i w na z do jest się nie dla to lub od oraz po przez o jako który",
	"tr": "ve bir bu için ile olarak da de olan veya göre daha",
})

func languagesByWord(lists map[string]string) map[string][]string {
	out := map[string][]string{}
	for _, tag := range keys(lists) {
		for _, w := range strings.Fields(lists[tag]) {
			out[w] = append(out[w], tag)
		}
	}
	return out
}
