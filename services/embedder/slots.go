package embedder

import (
	"cmp"
	"errors"
	"strconv"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The most parameters and examples of a document that are embedded. Searches find the rest
// by words.
const (
	MaxParameters = 64
	MaxExamples   = 5
)

// slot is a text of a document and the place of its vector.
type slot struct {
	text   string
	vector *events.Vector
	part   string // the part of the document with this text; empty for a text of several parts
	at     int    // the index in a part that is a list
}

// The parts of a document that are lists.
const (
	partExamples   = "examples"
	partParameters = "parameters"
)

// slots returns the texts of a document with the places of their vectors in v, and
// allocates the lists of v.
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

// failed combines the first error of a document with the error of a slot. A permanent error
// names the text to blame, preferably a part of the document.
func (s slot) failed(first, err error) error {
	refused, permanent := stream.AsPermanent(err)
	if !permanent {
		return cmp.Or(first, err)
	}
	if s.part != "" {
		pointer := "/document/" + s.part
		if s.part == partExamples || s.part == partParameters {
			pointer += "/" + strconv.Itoa(s.at)
		}
		err = stream.Permanent(refused.Reason, &schema.Invalid{Path: pointer, Reason: refused.Err.Error()})
	}
	var invalid *schema.Invalid
	if _, before := stream.AsPermanent(first); before && !errors.As(first, &invalid) {
		return err
	}
	return cmp.Or(first, err)
}

// resize returns a copy of vs with length n, nil if n is 0.
func resize(vs []events.Vector, n int) []events.Vector {
	if n == 0 {
		return nil
	}
	out := make([]events.Vector, n)
	copy(out, vs)
	return out
}

// storedVectors returns the stored vectors of an entity by text, none if they are of another
// model.
func storedVectors(stored Cache, ref schema.Ref, m Model) map[string][]float32 {
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
