package grounding

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// Source is a document as answers are checked against it.
type Source struct {
	doc     *schema.Document
	stated  rules.Stated
	english bool // the answer is to be English, whatever the source is

	text    string          // all texts of the source in lower case, a line each
	letters string          // the same texts, folded
	numbers map[string]bool // of the source, as plainNumber writes them
	counts  map[string]bool // of the things that it lists
	effects map[string]bool // that it mentions
	topic   *llm.Reference

	original string // text in the letters of the source
}

// NewSource reads a document, which the rules made of raw. Answers must be in English or, by
// default, in the language of the document. Without vectors, words alone decide the subject.
func NewSource(vectors llm.Vectors, english bool, raw json.RawMessage, stated rules.Stated, doc *schema.Document) *Source {
	s := &Source{doc: doc, stated: stated, english: english, numbers: map[string]bool{}, counts: map[string]bool{}, effects: map[string]bool{}}
	var letters, original strings.Builder
	add := func(said string) {
		original.WriteString(said)
		original.WriteByte('\n')
		said = strings.ToLower(said)
		letters.WriteString(provenance.Fold(said))
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
	s.letters, s.original = letters.String(), original.String()
	s.text = strings.ToLower(s.original)
	words := spaced(s.text)
	mentions := func(w string) bool { return strings.Contains(words, w) }
	for _, e := range effects {
		if slices.ContainsFunc(e.claims, mentions) || slices.ContainsFunc(e.hints, mentions) {
			s.effects[e.kind] = true
		}
	}
	for i := range doc.Parameters {
		s.counts[strconv.Itoa(len(doc.Parameters[i].Enum))] = true
	}
	s.counts[strconv.Itoa(len(doc.Parameters))] = true
	s.readTopic(vectors)
	return s
}

// language returns the language of the source as the tables name it, English if it is
// unknown.
func (s *Source) language() string {
	switch s.doc.Language {
	case "zh", "ja":
		return cjk
	case "":
		return "en"
	}
	return s.doc.Language
}

// everyText calls fn with every key, string and number of a JSON value, in no particular
// order.
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

// says reports whether the source has a text somewhere, in any case.
func (s *Source) says(text string) bool { return strings.Contains(s.text, strings.ToLower(text)) }

// names reports whether the source has an identifier somewhere, in any
// spelling.
func (s *Source) names(identifier string) bool {
	letters := provenance.Fold(identifier)
	return letters == "" || strings.Contains(s.letters, letters)
}
