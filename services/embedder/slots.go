package embedder

import (
	"cmp"
	"errors"
	"strconv"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// What is embedded of one document, at most. A parameter or example beyond
// that is still found by its words.
const (
	MaxParameters = 64
	MaxExamples   = 5
)

// slot is one text of a document and where its vector belongs.
type slot struct {
	text   string
	vector *events.Vector
	part   string // of the document that the text is; "" where it is made of several
	at     int    // in a list of such parts
}

// path is the JSON pointer to the part in a change.
func (s slot) path() string {
	path := "/document/" + s.part
	if s.part == partExamples || s.part == partParameters {
		path += "/" + strconv.Itoa(s.at)
	}
	return path
}

// The parts of a document that are lists.
const (
	partExamples   = "examples"
	partParameters = "parameters"
)

// slots returns the texts of a document beside the places of their vectors in
// v, which it makes ready.
func slots(doc *schema.Document, v *events.Vectors) []slot {
	f := index.Texts(doc)
	f.Examples = f.Examples[:min(len(f.Examples), MaxExamples)]
	f.Parameters = f.Parameters[:min(len(f.Parameters), MaxParameters)]
	v.Examples = resize(v.Examples, len(f.Examples))
	v.Parameters = resize(v.Parameters, len(f.Parameters))
	out := []slot{
		{text: f.Name, vector: &v.Name}, {text: f.Flat, vector: &v.Flat},
		{f.Description, &v.Description, "description", 0}, {f.Response, &v.Response, "response", 0},
	}
	for i, text := range f.Examples {
		out = append(out, slot{text, &v.Examples[i], partExamples, i})
	}
	for i, text := range f.Parameters {
		out = append(out, slot{text, &v.Parameters[i], partParameters, i})
	}
	return out
}

// failed returns the error of a document whose error so far is first once that of its slot is
// known. A permanent error says which text is to blame: one text rather than a text made of several.
func (s slot) failed(first, err error) error {
	refused, permanent := stream.AsPermanent(err)
	if !permanent {
		return cmp.Or(first, err)
	}
	if s.part != "" {
		err = stream.Permanent(refused.Reason, &schema.Invalid{Path: s.path(), Reason: refused.Err.Error()})
	}
	var invalid *schema.Invalid
	if _, before := stream.AsPermanent(first); before && !errors.As(first, &invalid) {
		return err
	}
	return cmp.Or(first, err)
}

// resize returns vs with n places, nil for none.
func resize(vs []events.Vector, n int) []events.Vector {
	if n == 0 {
		return nil
	}
	out := make([]events.Vector, n)
	copy(out, vs)
	return out
}

// known returns the vectors by text that are stored of an entity, none where
// they are another model's.
func known(stored Cache, ref schema.Ref, m Model) map[string][]float32 {
	if stored == nil {
		return nil
	}
	doc, vectors, ok := stored.Previous(ref)
	if !ok || vectors.Model != m.Name() || vectors.Dimensions != m.Dimensions() {
		return nil
	}
	out := map[string][]float32{}
	for _, s := range slots(&doc, &vectors) {
		if len(*s.vector) == m.Dimensions() {
			out[s.text] = *s.vector
		}
	}
	return out
}
