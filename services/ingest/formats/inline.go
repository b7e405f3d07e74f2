package formats

import (
	"slices"

	"github.com/toolstream/toolstream/internal/jsondoc"
)

// How far references are put in place. What lies beyond stays a reference, so
// the document of an operation is bounded by its own text and these budgets.
const (
	inputDepth    = 8         // references in references, of parameters and request bodies
	responseDepth = 3         // of responses
	inputBytes    = 512 << 10 // of text put in place
	responseBytes = 128 << 10
)

// inline returns an operation with its local references put in place, inputs
// first. What it returns shares the parts without references.
func (r *refs) inline(value map[string]any) map[string]any {
	in := &inliner{refs: r, budget: inputBytes, examples: true}
	out := overlay(value, nil)
	for _, part := range []struct {
		key   string
		depth int
		names bool
	}{{"parameters", inputDepth, false}, {"requestBody", inputDepth, false}, {"responses", responseDepth, true}} {
		if part.key == "responses" {
			in = &inliner{refs: r, budget: responseBytes}
		}
		if v, there := value[part.key]; there {
			out[part.key] = in.expand(v, part.names, part.depth)
		}
	}
	return out
}

type inliner struct {
	refs     *refs
	budget   int
	examples bool         // also whole examples
	open     []*component // being expanded: a circle ends where it would begin again
}

func (in *inliner) expand(v any, names bool, depth int) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = in.expand(e, false, depth)
		}
		return out
	case map[string]any:
		if ref, ok := reference(v, names); ok {
			return in.follow(ref, v, depth)
		}
		return in.members(v, names, depth)
	}
	return v
}

func (in *inliner) members(m map[string]any, names bool, depth int) map[string]any {
	out := make(map[string]any, len(m))
	for _, k := range jsondoc.Keys(m) { // in order: the budget is spent in order
		switch {
		case names || !opaque(k):
			out[k] = in.expand(m[k], !names && named(k), depth)
		case k == "examples" && in.examples:
			out[k] = in.wholeExamples(m[k], depth)
		default:
			out[k] = m[k]
		}
	}
	return out
}

func (in *inliner) wholeExamples(v any, depth int) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(m))
	for _, k := range jsondoc.Keys(m) {
		out[k] = m[k]
		example, _ := m[k].(map[string]any)
		if ref, ok := reference(example, false); ok {
			out[k] = in.follow(ref, example, depth)
		}
	}
	return out
}

// follow puts what a reference leads to in its place, with what stands beside
// the reference over it; or returns it as it is.
func (in *inliner) follow(ref string, m map[string]any, depth int) any {
	c := in.refs.component(ref)
	if depth == 0 || c.value == nil || slices.Contains(in.open, c) {
		return m
	}
	in.refs.scan(c)
	if c.size > in.budget {
		return m
	}
	in.budget -= c.size
	in.open = append(in.open, c)
	v := in.expand(c.value, false, depth-1)
	in.open = in.open[:len(in.open)-1]
	if target, ok := v.(map[string]any); ok && len(m) > 1 {
		return overlay(target, m)
	}
	return v
}
