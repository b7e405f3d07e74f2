package grounding

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/toolstream/toolstream/internal/topic"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// Source is a document as answers are checked against it.
type Source struct {
	doc     *schema.Document
	stated  rules.Stated
	english bool // the answer is to be English, whatever the source is

	text    string          // everything the source says, in small letters, a line each
	letters string          // the same, but only letters and digits, a line each
	numbers map[string]bool // that stand in it, as plainNumber writes them
	counts  map[string]bool // of the things that it lists
	effects map[string]bool // that it speaks of
	topic   *topic.Topic

	original string // text in the letters of the source
}

// NewSource reads a document. doc is what the rules made of raw. An answer has the
// language of the document, unless it is to be English. Without vectors, words alone
// tell what it is about.
func NewSource(vectors topic.Vectors, english bool, raw json.RawMessage, stated rules.Stated, doc *schema.Document) *Source {
	s := &Source{doc: doc, stated: stated, english: english, numbers: map[string]bool{}, counts: map[string]bool{}}
	var text, letters, original strings.Builder
	add := func(said string) {
		original.WriteString(said)
		original.WriteByte('\n')
		said = strings.ToLower(said)
		text.WriteString(said)
		text.WriteByte('\n')
		letters.WriteString(squeeze(said))
		letters.WriteByte('\n')
		for _, n := range append(numbersIn(said), numberWordsIn(said)...) {
			s.numbers[n.value] = true
		}
		for _, n := range digits.FindAllString(said, -1) {
			s.numbers[plainNumber(n)] = true
		}
		for _, n := range listed(said) {
			s.counts[strconv.Itoa(n)] = true
		}
	}
	add(doc.Name)
	var v any
	if json.Unmarshal(raw, &v) == nil {
		everyText(v, add)
	}
	s.text, s.letters, s.original = text.String(), letters.String(), original.String()
	s.effects = spokenOf(spaced(s.text))
	for i := range doc.Parameters {
		s.counts[strconv.Itoa(len(doc.Parameters[i].Enum))] = true
	}
	s.counts[strconv.Itoa(len(doc.Parameters))] = true
	s.readTopic(vectors)
	return s
}

// language returns the language of the source as the tables name it; English
// where it cannot be told.
func (s *Source) language() string {
	switch s.doc.Language {
	case "zh", "ja":
		return cjk
	case "":
		return "en"
	}
	return s.doc.Language
}

// everyText calls fn with every key, string and number of a JSON value. The
// order is not fixed: what is made of it does not depend on it.
func everyText(v any, fn func(string)) {
	switch v := v.(type) {
	case string:
		fn(v)
	case float64:
		b, err := json.Marshal(v)
		if err == nil {
			fn(string(b))
		}
	case []any:
		for _, e := range v {
			everyText(e, fn)
		}
	case map[string]any:
		for k, e := range v {
			fn(k)
			everyText(e, fn)
		}
	}
}

// squeeze keeps letters and digits, so that "user_id", "userId" and "User ID"
// are one.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// says reports whether the source has a text somewhere, in any case.
func (s *Source) says(text string) bool { return strings.Contains(s.text, strings.ToLower(text)) }

// names reports whether the source has an identifier somewhere, in any
// spelling.
func (s *Source) names(identifier string) bool {
	letters := squeeze(identifier)
	return letters == "" || strings.Contains(s.letters, letters)
}

// lists reports whether a text is one of the values that a parameter can have.
func (s *Source) lists(said string) bool {
	return slices.ContainsFunc(s.doc.Parameters, func(p schema.Parameter) bool {
		return slices.ContainsFunc(p.Enum, func(v string) bool { return strings.Trim(v, `"`) == strings.Trim(said, `"`) })
	})
}
