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
	inputBytes    = 128 << 10 // of text put in place
	responseBytes = 32 << 10
)

// inline returns an operation with its local references put in place, as deep
// as the budgets allow for all of a part alike: the outer levels of every
// parameter matter more than the innermost of the first.
func (r *refs) inline(value map[string]any) map[string]any {
	out := overlay(value, nil)
	inputs := &inliner{refs: r, budget: inputBytes, examples: true}
	inputs.parts(out, inputDepth, "parameters", "requestBody")
	responses := &inliner{refs: r, budget: responseBytes}
	responses.parts(out, responseDepth, "responses")
	return out
}

// parts expands members of an operation in place.
func (in *inliner) parts(op map[string]any, depth int, keys ...string) {
	w := walk{refs: in.refs, counts: map[*component]int{}}
	for _, k := range keys {
		w.value(op[k], isObject(op[k]) && named(k))
	}
	for depth > 1 && in.refs.weigh(w.counts, depth) > in.budget {
		depth--
	}
	for _, k := range keys {
		if v, there := op[k]; there {
			op[k] = in.expand(v, isObject(v) && named(k), depth)
		}
	}
}

// weigh returns how many bytes the references would take when followed that
// deep. Circles count as often as they would go round.
func (r *refs) weigh(counts map[*component]int, depth int) int {
	total := 0
	for c, n := range counts {
		total = add(total, times(n, r.weight(c, depth)))
	}
	return total
}

func (r *refs) weight(c *component, depth int) int {
	r.scan(c)
	if depth == 0 || c.value == nil {
		return 0
	}
	if c.weights[depth] == 0 {
		sum := c.size
		for _, e := range c.edges {
			sum = add(sum, times(e.count, r.weight(e.to, depth-1)))
		}
		c.weights[depth] = sum
	}
	return c.weights[depth]
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
