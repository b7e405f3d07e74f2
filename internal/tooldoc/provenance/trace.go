package provenance

import (
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Trace says which field of the document has each string of a source with three words or
// more, or why no field has it.
type Trace struct {
	Sentences []Sentence `json:"sentences,omitempty" doc:"Sentences of the source that a field has, in the order of the source."`
	LeftOut   []LeftOut  `json:"left_out,omitempty" doc:"Sentences of the source that no field has, or not once more."`
	Coverage  float64    `json:"coverage" doc:"The share of the words of the source's prose that a field has, from 0 to 1."`
}

// Sentence is a sentence of the source that a field has.
type Sentence struct {
	Field string `json:"field" doc:"The field, such as description, parameters/city/description or response."`
	Path  string `json:"path" doc:"The JSON pointer of the text in the source."`
	Text  string `json:"text" doc:"The text of the sentence."`
}

// LeftOut is a sentence of the source that no field has, or not once more.
type LeftOut struct {
	Path   string `json:"path" doc:"The JSON pointer of the text in the source."`
	Text   string `json:"text" doc:"The text of the sentence."`
	Reason Reason `json:"reason" doc:"Why no field has the text: example payload, licence, boilerplate, unused, code, repeated, reworded or too long."`
}

// maxShown bounds a text that is left out, in bytes.
const maxShown = 1 << 10

// Of returns the trace of a decoded source in the document that was made of it.
func Of(source any, doc *schema.Document) Trace {
	t := tracer{source: NewSource(source), finder: NewFinder(doc), doc: doc, told: map[string]int{}}
	t.source.Strings(func(string) {}, t.trace)
	t.Coverage = Share(t.covered, t.words)
	return t.Trace
}

// OfRaw is Of for a document as its source had it. Its error is that of JSON.
func OfRaw(raw []byte, doc *schema.Document) (Trace, error) {
	source, err := Decode(raw)
	if err != nil {
		return Trace{}, err
	}
	return Of(source, doc), nil
}

// Decode decodes a source, which was bounded when it was accepted. Its error is that of JSON.
func Decode(raw []byte) (any, error) {
	return jsondoc.Decode(raw, jsondoc.Limits{Bytes: len(raw), Nodes: len(raw)})
}

// Share returns covered as a share of all words, 1 if all is 0.
func Share(covered, all int) float64 {
	if all == 0 {
		return 1
	}
	return float64(covered) / float64(all)
}

type tracer struct {
	Trace
	source         *Source
	finder         *Finder
	doc            *schema.Document
	told           map[string]int // how often a text came before
	words, covered int
}

// trace adds the sentences of one string of the source.
func (t *tracer) trace(path []string, s string) {
	if !Says(s) {
		return
	}
	ofString := t.source.ReasonAt(path)
	if ofString == "" && t.finder.find(s) < 0 {
		ofString = ReasonOf(s)
	}
	at := jsondoc.Pointer("", path...)
	for _, sentence := range Sentences(s) {
		n := CountWords(sentence)
		if n == 0 {
			continue
		}
		why := ofString
		field, again := t.fieldOf(sentence)
		if field == "" && why == "" {
			why = ReasonOf(sentence)
		}
		switch {
		case field != "":
			t.words += n
			t.covered += n
			if !again {
				t.Sentences = append(t.Sentences, Sentence{field, at, sentence})
				continue
			}
			why = Repeated
		case why == "":
			t.words += n
			why = TooLong
			if t.doc.Standardized != nil && len(t.doc.Standardized.Fields) > 0 {
				why = Reworded
			}
		}
		t.LeftOut = append(t.LeftOut, LeftOut{at, text.Truncate(sentence, maxShown), why})
	}
}

// fieldOf returns the field that has a sentence, "" if none has, and whether as many
// sentences of the source as fields that have it came before.
func (t *tracer) fieldOf(sentence string) (field string, again bool) {
	entries := t.finder.all(sentence)
	if len(entries) > 0 {
		words := FoldWords(sentence)
		n := t.told[words]
		t.told[words]++
		return t.finder.field(entries[min(n, len(entries)-1)]), n >= len(entries)
	}
	if !t.finder.holds(sentence) {
		return "", false
	}
	for _, clause := range clauses(sentence) {
		if i := t.finder.find(clause); i >= 0 && Says(clause) {
			return t.finder.field(i), false
		}
	}
	return "name", false // it consists of marks
}
