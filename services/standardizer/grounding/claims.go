package grounding

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/toolstream/toolstream/internal/text"
)

// effectWords lists what tools do to the world, by kind and language: beginnings of
// words, or words where they end in a full stop. Words of one kind stand for each
// other: what removes, deletes. Those after a bar are no claim by themselves, but a
// source that has one speaks of the kind.
//
//go:embed effects.txt
var effectWords string

// effect is a kind of them, in one language.
type effect struct {
	kind, language string
	claims, hints  []string
}

var effects = func() (out []effect) {
	for line := range strings.Lines(effectWords) {
		f := strings.Fields(line)
		e := effect{kind: f[0], language: f[1]}
		into := &e.claims
		for _, w := range f[2:] {
			if w == "|" {
				into = &e.hints
				continue
			}
			if e.language != cjk { // as it stands in spaced
				w = strings.NewReplacer(".", " ", "_", " ").Replace(" " + w)
			}
			*into = append(*into, w)
		}
		out = append(out, e)
	}
	return out
}()

// cjk stands for Chinese and Japanese.
const cjk = "cjk"

// languageOf returns the language of a text as the tables name it.
func languageOf(said, otherwise string) string {
	switch l := string(text.Guess(said)); l {
	case "zh", "ja":
		return cjk
	case "":
		if otherwise == cjk && !strings.ContainsFunc(said, func(r rune) bool { return r >= 0x3000 }) {
			return string(text.English)
		}
		return otherwise
	default:
		return l
	}
}

// spaced returns the words of a text in small letters, a space around each, and
// at last the text itself for scripts without spaces.
func spaced(s string) string {
	s = strings.ToLower(s)
	words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	return " " + strings.Join(words, " ") + " \n" + s
}

// claimedIn returns a word for each kind of effect that a text in a language
// claims. said is spaced.
func claimedIn(said, language string) map[string]string {
	found := map[string]string{}
	for _, e := range effects {
		if i := slices.IndexFunc(e.claims, func(w string) bool { return strings.Contains(said, w) }); i >= 0 && e.language == language {
			found[e.kind] = strings.TrimSpace(e.claims[i])
		}
	}
	return found
}

// spokenOf returns the kinds of effects that a source speaks of.
func spokenOf(said string) map[string]bool {
	found := map[string]bool{}
	for _, e := range effects {
		in := func(w string) bool { return strings.Contains(said, w) }
		if slices.ContainsFunc(e.claims, in) || slices.ContainsFunc(e.hints, in) {
			found[e.kind] = true
		}
	}
	return found
}

// promises are praise, and what no tool can promise. In a language that is not
// listed nothing is found.
var promises = map[string]*regexp.Regexp{
	"en": promise(`the best (and|tool|choice|one|price|exchange|service|api|app|available|possible|ever|of|in the|quality|solution|option)|best (tool|choice|price|quality|results?|in)|fastest|guarante\w+|flawless\w*|perfectly|official (tool|api|source|service|provider|partner|app|version)|officially|(highly )?recommended (tool|choice|by|for)|unrivall?ed|unmatched|unbeatable|ultimate|revolutionary|cutting-edge|state-of-the-art|world-class|award-winning|trusted|100 ?%|effortless\w*|instantly|(always|never) (use|choose|pick|call|prefer|works?|fails?|right|correct|wrong|miss\w*)|most (accurate|advanced|reliable|powerful|trusted|comprehensive|modern)|number one|nothing (is|could be) \w+er|industry-leading|world.?s leading|leading (provider|platform|tool|solution|service)|without (any )?fees|free of charge|without (exception|rival|equal)|error-free|certainty|faster than|ever written|one and only|instead of any other|better than`),
	"de": promise(`(der|die|das|den|dem) beste[nrsm]?|bestens|schnellste\w*|garantier\w*|perfekt\w*|unschlagbar\w*|führende\w*|zuverlässigste\w*|100 ?%|immer (nutzen|verwenden|richtig)|nie wieder|kostenlos\w*`),
	"fr": promise(`(le|la|les) meilleure?s?|garanti\w*|parfait\w*|incontournable|toujours (utiliser|choisir)|jamais d|100 ?%|gratuit\w*|(le|la) plus (rapide|fiable|complet|complète|puissante?|précise?)`),
	"es": promise(`(el|la|los|las) mejore?s?|garantiz\w*|garantía|perfect\w*|infalible|siempre (use|utilice|funciona|elija)|(use|usa|utilice) siempre|nunca falla|100 ?%|gratis|(el|la) más (rápid[oa]|fiable|complet[oa]|precis[oa]|potente)|más fiable`),
	"it": promise(`(il|la|i|le) miglior\w*|garanti\w*|perfett\w*|infallibil\w*|sempre (usare|usate|funziona)|100 ?%|gratis|gratuit\w*|(il|la) più (veloce|affidabile|complet[oa]|precis[oa]|potente)`),
	"pt": promise(`[oa]s? melhore?s?|garant\w*|perfeit\w*|infalível|sempre (use|funciona|escolha)|nunca falha|100 ?%|grátis|gratuit\w*|[oa] mais (rápid[oa]|confiável|complet[oa]|precis[oa])`),
	"nl": promise(`(de|het) beste|snelste|gegarandeerd\w*|garandeert|perfecte?|onverslaanbaar|altijd (gebruiken|goed)|nooit meer|100 ?%|gratis`),
	"pl": promise(`najleps\w*|najszybs\w*|najtańs\w*|gwarant\w*|idealn\w*|niezawodn\w*|zawsze (używ\w*|działa)|nigdy|100 ?%`),
	"tr": promise(`en (iyi|hızlı|ucuz|güvenilir)\w*|garanti\w*|mükemmel|her zaman|asla|tavsiye edilen`),
	"ru": promise(`лучш\p{L}+|гарант\p{L}+|идеальн\p{L}+|всегда использ\p{L}+|никогда не`),
	cjk:  regexp.MustCompile(`最好的|最优秀|最强|世界一|世界最|业界|業界|保证|保證|保証|百分之百|100 ?%|必ず|絶対|绝对|絕對|一定要|官方|推荐使用|完美|完璧|永远不`),
}

// promise matches whole words.
func promise(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^\p{L}\d])(` + words + `)(?:$|[^\p{L}\d])`)
}

// voice is what a model says of itself, and what only a template holds.
var voice = regexp.MustCompile(`(?i)\b(?:as an? (?:ai|artificial|language model|assistant)|language model|i(?:'m| am) an? (?:ai|assistant)|(?:als|come|como|comme|en tant qu)\W+(?:une?\W+)?(?:ki|ia|ai)\b|sprachmodell|modelo de lengua|modèle de langage|modello linguistico|taalmodel|lorem ipsum|from now on,? (?:answer|always|use|you|ignore|only)|ignore (?:all|any) (?:other|previous|earlier)|do not (?:tell|inform|mention (?:it|this) to) the user|(?:this|the) (?:tool|function) only\W*$|the (?:model|assistant|agent|llm) (?:reading|must|should|has to))\b|语言模型|言語モデル|作为(?:一个)?(?:AI|人工智能)`)

// refusal is what a model says that cannot or will not answer.
var refusal = regexp.MustCompile(`(?i)\b(?:i(?:'m| am) (?:sorry|unable|not able)|i (?:cannot|can't|do not have|don't have)|es tut mir leid|ich kann (?:nicht|kein)|lo siento|je ne peux|mi dispiace|desculpe)\b`)

// template is an example that waits to be filled in, or speaks of the tool.
var template = regexp.MustCompile(`(?i)(?:^|\W)(?:insert|enter|put|type|add|write) (?:your|the|a|an)\b[^.]*\bhere\b|\bgoes here\b|\byour (?:query|request|question|text) here\b|^\W*(?:example(?: request)?|user request|request|query|sample|beispiel|ejemplo|exemple|esempio|exemplo|voorbeeld|例|示例)s?\W*\d*\W*$|^\W*(?:example|beispiel|ejemplo|exemple|esempio|示例|例)(?: request)?\W*\d|<[\p{L} _]+>|\[(?:your|insert|city|name|date|value)[^\]]*\]|\{\{|^(?:string|text|n/a|todo|tbd|none|null|\.{2,})\W*$|^\W*(?:example|response|type|output|input|properties|parameters)\s*[:=]|^\W*(?:this|the)(?: \w+)? (?:tool|function|api|endpoint|method|operation|service)\b|^\W*(?:dieses|das) (?:werkzeug|tool)\b|^\W*(?:esta|la) (?:herramienta|función|api)\b|^\W*(?:esta|a) (?:ferramenta|função)\b|^\W*(?:questa|questo|la) (?:funzione|strumento)\b|^\W*(?:the |an? )?(?:parameter|field|argument|value)\b|^\W*(?:cet|l)\W?(?:outil|api)\b|^(?:本|该|此|この)(?:工具|接口|函数|ツール|関数|api)|^\W*(?:GET|POST|PUT|PATCH|DELETE) /`)

// prose reports whether a text is made of so many words: of letters, if not more
// than numbers take.
func prose(said string, words int) bool {
	letters, others := 0, 0
	for _, r := range said {
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r):
			letters++
		case !unicode.IsSpace(r):
			others++
		}
	}
	return letters*3 > others && len(text.Words(said)) >= words && (words < 2 || strings.ContainsFunc(strings.TrimSpace(said), unicode.IsSpace) || strings.ContainsFunc(said, unspaced))
}

// unspaced reports whether a letter is of a script without spaces.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// definition is a sentence that says what something is.
var definition = regexp.MustCompile(`(?i)^(?:an? )?[\p{L} ]{3,40} (?:is|are) an? \p{L}+ (?:of|in|that|which) [^?]*\.$`)

// person is one who asks or is asked.
var person = regexp.MustCompile(`(?i)\b(?:i|my|me|we|our|us|you|your|please)\b`)

// negated is what a text says is not so.
var negated = regexp.MustCompile(`(?i)(?:^|\s)(?:without|instead of|not|never|no|ohne|nicht|sans|sin|senza|sem|zonder|bez|nie)\s+\S+(?:\s+\S+)?`)

// called is a word of several that a request has somebody run.
var called = regexp.MustCompile(`(?i)\b(?:run|call|use|invoke|execute)\s+(\p{L}+(?:_\p{L}+)+)`)

// blank is a text that stands for none.
var blank = regexp.MustCompile(`(?i)^\W*(?:n/?a|none|null|nil|json|object|undefined|unknown|empty|todo|tbd|string|text|description|not (?:available|specified|provided|applicable))\W*$|^[\s.…*#_–—-]+$`)

// placeholder is a value that stands for one.
var placeholder = regexp.MustCompile(`(?i)^\W*(?:<.*>|\[.*\bhere\]|\{\{.*|todo|tbd|xxx+|string|value|placeholder|n/?a|insert .*|example[ _-]?(?:value|string|text)|foo|\.\.\.)\W*$`)

// exampleOf is a value that is given as an example, to the end of its sentence.
var exampleOf = regexp.MustCompile(`(?i)(\b(?:for example|for instance|such as|like|e\.\s?g\.|zum beispiel|z\.\s?b\.|etwa|par exemple|por ejemplo|ad esempio|por exemplo|bijvoorbeeld|bijv\.|np\.|na przykład|örneğin|例如|例えば|比如|たとえば|（例))[ ,:：、][^;。]*`)

// compound is a word of several.
var compound = regexp.MustCompile(`\p{L}+(?:-\p{L}+)+|\p{Lu}\p{Ll}+(?:\p{Lu}\p{Ll}+)+|\p{L}+(?:_\p{L}+)+`)

// loops reports whether a text goes round: three words in a row make up a third of
// it, or one word makes up much of it.
func loops(said string) bool {
	words := text.Words(said)
	seen, times := map[[3]string]int{}, map[string]int{}
	for i := range words {
		if w := words[i].Text; words[i].Spaced() && !text.StopWord(w) && unicode.IsLetter([]rune(w)[0]) {
			times[w]++
			if times[w] > 2 && times[w]*5 >= len(words)*2 {
				return true
			}
		}
	}
	for i := 2; i < len(words); i++ {
		three := [3]string{words[i-2].Text, words[i-1].Text, words[i].Text}
		seen[three]++
		if seen[three] > 2 && seen[three]*9 >= len(words) || three[0] == three[1] && three[1] == three[2] {
			return true
		}
	}
	return false
}

// word is a word with what may stand within it.
var word = regexp.MustCompile(`\p{L}[\p{L}\p{M}\d&]*`)

// namesIn returns the words of a text that its writing makes names: a capital
// within a sentence, in German more than one, where all nouns have one; in a
// script without capitals, Latin letters.
func namesIn(said, language string) (out []string) {
	for _, sentence := range text.Sentences(said) {
		if titled(sentence) {
			continue
		}
		for _, at := range word.FindAllStringIndex(sentence, -1) {
			w := sentence[at[0]:at[1]]
			begins := strings.TrimRight(sentence[:at[0]], " \t\"'“”‘’„«»(*_-–—•0123456789.)>#`") == "" || strings.HasSuffix(strings.TrimRight(sentence[:at[0]], " *\"“„«"), ":")
			capitals := strings.IndexFunc(w[1:], unicode.IsUpper) >= 0
			switch first := []rune(w)[0]; {
			case len(w) < 2 || ordinary[strings.ToLower(w)] || strings.Trim(w, w[:1]) == "":
			case language == cjk:
				if first < unicode.MaxLatin1 {
					out = append(out, w)
				}
			case unicode.IsUpper(first) && (capitals || !begins && language != "de"):
				out = append(out, w)
			}
		}
	}
	return out
}

// Several words with capitals, whose initials may be an acronym.
var bold = regexp.MustCompile(`\*\*[^*\n]+\*\*|(?m)^#+ .*$`)

var capitalised = regexp.MustCompile(`\p{Lu}[\p{L}\d]*(?:[ -](?:(?:of|and|the|for|de|der|des|und|et|y) )?\p{Lu}[\p{L}\d]*)+`)

// withoutSpelledOut returns a text without names whose initials the source has as a
// word, and without acronyms of words that stand in the source one after the other.
func (s *Source) withoutSpelledOut(said string) string {
	said = capitalised.ReplaceAllStringFunc(said, func(name string) string {
		initials := strings.Map(func(r rune) rune {
			if unicode.IsUpper(r) {
				return r
			}
			return -1
		}, name)
		if containsWord(s.text, initials) {
			return strings.ToLower(name)
		}
		return name
	})
	return acronym.ReplaceAllStringFunc(said, func(a string) string {
		letters := strings.Split(strings.ToLower(strings.TrimSuffix(a, "s")), "")
		if spelled, err := regexp.Compile(`\b` + strings.Join(letters, `\w*\W+(?:(?:of|and|the|for)\W+)?`)); err == nil && spelled.MatchString(s.text) {
			return strings.ToLower(a)
		}
		return a
	})
}

var acronym = regexp.MustCompile(`\b[A-Z]{2,6}s?\b`)

// titled reports whether a sentence is written as a title, with capitals
// throughout.
func titled(sentence string) bool {
	capitals, all := 0, 0
	for i, w := range word.FindAllString(sentence, -1) {
		if i > 0 && len(w) > 3 {
			if all++; unicode.IsUpper([]rune(w)[0]) {
				capitals++
			}
		}
	}
	return all > 2 && capitals*3 > all*2
}

// ordinary are words with capitals that any text may hold: the calendar, scales,
// and what formats and protocols are called.
var ordinary = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(`monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
		september october november december celsius fahrenheit kelvin internet web english wi fi javascript boolean unix unicode ascii id ids url urls uri api apis json
		xml csv html pdf http https ip gps sms qr pin utc gmt am pm ok iso uuid sql ai faq vat usd eur gbp png jpg jpeg svg gif mp3 mp4 cpu ram usb tv isbn rgb
		hex md5 sha dna ocr seo sdk cli ui pc it i e mail ssl tls dns tcp udp rest yaml llm oauth nsfw yyyy markdown zip excel latin gregorian earth christmas easter`) {
		out[w] = true
	}
	return out
}()
