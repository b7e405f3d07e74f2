package provenance

import (
	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Trace says of every string of a source with three words or more where it stands in
// the document, or why it does not.
type Trace struct {
	Sentences []Sentence `json:"sentences,omitempty" doc:"In the order of the source."`
	LeftOut   []LeftOut  `json:"left_out,omitempty" doc:"What of the raw document stands in no field."`
	Coverage  float64    `json:"coverage" doc:"Share of the words of the source's prose that stand in a field: 0 to 1."`
}

// Sentence is a sentence of the source that stands in a field.
type Sentence struct {
	Field string `json:"field" doc:"Such as description, parameters/city/description or response."`
	Path  string `json:"path" doc:"JSON pointer in the source."`
	Text  string `json:"text" doc:"The text itself."`
}

// LeftOut is a sentence of the source that stands in no field, or not once more.
type LeftOut struct {
	Path   string `json:"path" doc:"JSON pointer in the source."`
	Text   string `json:"text" doc:"The text itself."`
	Reason Reason `json:"reason" doc:"example payload, licence, boilerplate, unused, code, repeated, reworded or too long."`
}

// maxShown bounds a text that is left out, in bytes.
const maxShown = 1 << 10

// Of returns the trace of a decoded source in the document that was made of it.
func Of(source any, doc *schema.Document) Trace {
	t := tracer{source: NewSource(source), index: newIndex(doc), doc: doc, boilerplate: FoldedSet(doc.Boilerplate), told: map[string]int{}}
	t.source.Strings(func(string) {}, t.trace)
	t.Coverage = Share(t.covered, t.words)
	return t.Trace
}

// OfRaw is Of for a document as its source had it. Its error is that of JSON.
func OfRaw(raw []byte, doc *schema.Document) (Trace, error) {
	source, err := jsondoc.Decode(raw, jsondoc.Limits{Bytes: len(raw), Nodes: len(raw)})
	if err != nil {
		return Trace{}, err
	}
	return Of(source, doc), nil
}

// Share returns covered of all words, 1 where there are none.
func Share(covered, all int) float64 {
	if all == 0 {
		return 1
	}
	return float64(covered) / float64(all)
}

type tracer struct {
	Trace
	source         *Source
	index          *index
	doc            *schema.Document
	boilerplate    map[string]bool // sentences of doc that are, as FoldedSet has them
	told           map[string]int  // how often a text came before
	words, covered int
}

func (t *tracer) trace(path []string, s string) {
	if !Says(s) {
		return
	}
	why := t.source.ReasonAt(path)
	if why == "" && t.index.find(s) < 0 {
		why = ReasonOf(s)
	}
	at := jsondoc.Pointer("", path...)
	for _, sentence := range Sentences(s) {
		if CountWords(sentence) > 0 {
			t.sentence(at, sentence, why)
		}
	}
}

func (t *tracer) sentence(path, sentence string, why Reason) {
	field, again := t.fieldOf(sentence)
	if field == "" && why == "" {
		why = ReasonOf(sentence)
		if t.boilerplate[FoldWords(sentence)] {
			why = Boilerplate
		}
	}
	n := CountWords(sentence)
	switch {
	case field != "":
		t.words += n
		t.covered += n
		if !again {
			t.Sentences = append(t.Sentences, Sentence{field, path, sentence})
			return
		}
		why = Repeated
	case why == "":
		t.words += n
		why = TooLong
		if t.doc.Standardized != nil && len(t.doc.Standardized.Fields) > 0 {
			why = Reworded
		}
	}
	t.LeftOut = append(t.LeftOut, LeftOut{path, text.Truncate(sentence, maxShown), why})
}

// fieldOf returns the field in which a sentence stands, "" if in none, and whether it was
// told of as often as it stands there.
func (t *tracer) fieldOf(sentence string) (field string, again bool) {
	places := t.index.all(sentence)
	if len(places) > 0 {
		words := string(appendWords(nil, sentence))
		n := t.told[words]
		t.told[words]++
		return t.index.field(places[min(n, len(places)-1)]), n >= len(places)
	}
	if !t.index.holds(sentence) {
		return "", false
	}
	for _, clause := range clauses(sentence) {
		if i := t.index.find(clause); i >= 0 && Says(clause) {
			return t.index.field(i), false
		}
	}
	return "name", false // it has nothing but the words that mark the parts
}
