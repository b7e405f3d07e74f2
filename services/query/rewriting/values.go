package rewriting

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/kit/text"
)

// values are the concrete values that can be told in a query by how they are
// written: addresses, quotations, words with digits, and names. A value in any
// other form, such as a number in letters, is not seen.
type values struct {
	phrases []string        // addresses, quotations and names of several words, in lower case
	numbers map[string]bool // words with digits, in lower case
	names   map[string]bool // words of names, as written
}

var (
	webAddress = regexp.MustCompile(`(?i)\b(?:[a-z][a-z0-9+.-]*://|www\.)[^\s"'<>]+|[\w.+-]+@[\w-]+\.[\w.-]+`)
	quotation  = regexp.MustCompile(`"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|»([^«]+)«|「([^」]+)」|『([^』]+)』|‘([^’]+)’|(?:^|[\s(])'([^']+)'(?:[\s).,;:?!]|$)`)
	withDigits = regexp.MustCompile(`[A-Za-z0-9_.:,/+%#*()@-]*\p{Nd}[A-Za-z0-9_.:,/+%#*()@-]*`)
)

// valuesOf finds the values of a query. Words in the
// descriptions that are shown to the model are not names of a user's things.
func valuesOf(query, shown string) values {
	query = norm.NFKC.String(query)
	v := values{numbers: numbersOf(query), names: map[string]bool{}}
	for _, found := range webAddress.FindAllString(query, -1) {
		v.add(found)
	}
	for _, groups := range quotation.FindAllStringSubmatch(query, -1) {
		v.add(strings.Join(groups[1:], "")) // all but one are empty
	}
	catalogue := map[string]bool{}
	for _, w := range wordsOf(shown) {
		catalogue[w.text] = true
	}
	languages, _ := text.Detect(text.Words(query))
	nounsAreNames := languages[text.English.Script()] == "de" // every noun is capitalised
	v.addNames(wordsOf(query), catalogue, nounsAreNames)
	return v
}

func (v *values) add(phrase string) {
	if phrase = strings.ToLower(strings.Trim(phrase, " .,;:?!")); utf8.RuneCountInString(phrase) > 1 {
		v.phrases = append(v.phrases, phrase)
	}
}

// addNames adds the runs of capitalised words. If every noun is capitalised,
// one such word alone is not a name.
func (v *values) addNames(words []word, catalogue map[string]bool, nouns bool) {
	for i := 0; i < len(words); {
		end := i
		for end < len(words) && words[end].name() && !catalogue[words[end].text] && (end == i || !words[end].apart) {
			end++
		}
		run := words[i:end]
		if len(run) > 1 {
			var parts []string
			for _, w := range run {
				parts = append(parts, w.text)
			}
			v.add(strings.Join(parts, " "))
		}
		if len(run) > 1 || !nouns {
			for _, w := range run {
				v.names[w.text] = true
			}
		}
		i = max(end, i+1)
	}
}

// in reports whether a text contains any of the values. The first word of a sentence is
// capitalised anyway, so it is not a name there.
func (v *values) in(s string) bool {
	s = norm.NFKC.String(s)
	lower := strings.ToLower(s)
	if slices.ContainsFunc(v.phrases, func(phrase string) bool { return holds(lower, phrase) }) {
		return true
	}
	for n := range numbersOf(s) {
		if v.numbers[n] {
			return true
		}
	}
	return slices.ContainsFunc(wordsOf(s), func(w word) bool { return !w.first && v.names[w.text] })
}

// holds reports whether s holds a phrase that begins and ends where words do.
func holds(s, phrase string) bool {
	for from := 0; ; {
		at := strings.Index(s[from:], phrase)
		if at < 0 {
			return false
		}
		start := from + at
		before, _ := utf8.DecodeLastRuneInString(s[:start])
		after, _ := utf8.DecodeRuneInString(s[start+len(phrase):])
		if !partOfWord(before) && !partOfWord(after) {
			return true
		}
		from = start + 1
	}
}

func partOfWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// numbersOf returns the words with digits, in lower case, without what
// punctuation surrounds them.
func numbersOf(s string) map[string]bool {
	out := map[string]bool{}
	for _, found := range withDigits.FindAllString(s, -1) {
		out[strings.ToLower(strings.TrimFunc(found, func(r rune) bool { return !partOfWord(r) }))] = true
	}
	return out
}

// word is a run of letters.
type word struct {
	text  string
	first bool // of its sentence
	apart bool // from the word before, by more than a space
}

// name reports whether the word is written as a name: a capital, then small
// letters. Words in capitals are abbreviations as a rule.
func (w word) name() bool {
	if w.first {
		return false
	}
	r, n := utf8.DecodeRuneInString(w.text)
	return unicode.IsUpper(r) && strings.IndexFunc(w.text[n:], unicode.IsLower) >= 0 && strings.IndexFunc(w.text[n:], unicode.IsUpper) != 0
}

var letters = regexp.MustCompile(`\p{L}[\p{L}\p{M}]*`)

// wordsOf returns the words of a text. The letters behind an apostrophe are left out.
func wordsOf(s string) []word {
	var out []word
	for _, sentence := range text.Sentences(s) {
		end := 0
		for i, at := range letters.FindAllStringIndex(sentence, -1) {
			gap := sentence[end:at[0]]
			end = at[1]
			if gap == "'" || gap == "’" {
				continue
			}
			out = append(out, word{text: sentence[at[0]:at[1]], first: i == 0, apart: strings.Trim(gap, " .") != ""})
		}
	}
	return out
}
