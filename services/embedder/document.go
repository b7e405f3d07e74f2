package embedder

import (
	"github.com/toolstream/toolstream/internal/index"
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
}

// slots returns the texts of a document beside the places of their vectors in
// v, which it makes ready.
func slots(doc *schema.Document, v *events.Vectors) []slot {
	f := index.Texts(doc)
	f.Examples = f.Examples[:min(len(f.Examples), MaxExamples)]
	f.Parameters = f.Parameters[:min(len(f.Parameters), MaxParameters)]
	v.Examples = resize(v.Examples, len(f.Examples))
	v.Parameters = resize(v.Parameters, len(f.Parameters))
	out := []slot{{f.Name, &v.Name}, {f.Flat, &v.Flat}, {f.Description, &v.Description}, {f.Response, &v.Response}}
	for i, text := range f.Examples {
		out = append(out, slot{text, &v.Examples[i]})
	}
	for i, text := range f.Parameters {
		out = append(out, slot{text, &v.Parameters[i]})
	}
	return out
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
