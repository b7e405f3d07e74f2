package formats

import (
	"slices"

	"github.com/toolstream/toolstream/internal/jsondoc"
)

// How far references are put in place. What lies beyond stays a reference, so
// the document of an operation is bounded by its own text and these budgets.
const (
	inputDepth    = 8        // references in references, of parameters and request bodies
	responseDepth = 3        // of responses
	inputBytes    = 32 << 10 // of text put in place
	responseBytes = 16 << 10
)

// appendOperation appends an operation's canonical text with local references
// put in place, as deep as the budgets allow for all of a part alike: the
// outer levels of every parameter matter more than the innermost of the first.
func (r *refs) appendOperation(b []byte, op map[string]any) []byte {
	inputs := &inliner{refs: r, budget: inputBytes, examples: true}
	inputs.settle(inputDepth, op, "parameters", "requestBody")
	responses := &inliner{refs: r, budget: responseBytes}
	responses.settle(responseDepth, op, "responses")
	return appendObject(b, op, func(b []byte, k string) []byte {
		switch k {
		case "parameters", "requestBody":
			return inputs.append(b, op[k], false, inputs.depth)
		case "responses":
			return responses.append(b, op[k], isObject(op[k]), responses.depth)
		}
		return jsondoc.Append(b, op[k])
	})
}

// appendObject appends an object whose members value appends.
func appendObject(b []byte, m map[string]any, value func(b []byte, key string) []byte) []byte {
	b = append(b, '{')
	for i, k := range jsondoc.Keys(m) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsondoc.AppendString(b, k), ':')
		b = value(b, k)
	}
	return append(b, '}')
}

// inliner writes a part of an operation.
type inliner struct {
	refs     *refs
	depth    int
	budget   int
	examples bool         // also whole examples
	open     []*component // being expanded: a circle ends where it would begin again
}

// settle chooses the depth for members of an operation.
func (in *inliner) settle(depth int, op map[string]any, keys ...string) {
	w := walk{refs: in.refs, counts: map[*component]int{}}
	for _, k := range keys {
		w.value(op[k], isObject(op[k]) && named(k))
	}
	for depth > 1 && in.refs.weigh(w.counts, depth) > in.budget {
		depth--
	}
	in.depth = depth
}

func (in *inliner) append(b []byte, v any, names bool, depth int) []byte {
	switch v := v.(type) {
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = in.append(b, e, false, depth)
		}
		return append(b, ']')
	case map[string]any:
		if ref, ok := reference(v, names); ok {
			return in.follow(b, ref, v, depth)
		}
		return in.members(b, v, names, depth)
	}
	return jsondoc.Append(b, v)
}

func (in *inliner) members(b []byte, m map[string]any, names bool, depth int) []byte {
	return appendObject(b, m, func(b []byte, k string) []byte {
		switch {
		case names || !opaque(k):
			return in.append(b, m[k], !names && named(k), depth)
		case k == "examples" && in.examples && isObject(m[k]):
			return in.wholeExamples(b, m[k].(map[string]any), depth)
		}
		return jsondoc.Append(b, m[k])
	})
}

func (in *inliner) wholeExamples(b []byte, m map[string]any, depth int) []byte {
	return appendObject(b, m, func(b []byte, k string) []byte {
		example, _ := m[k].(map[string]any)
		if ref, ok := reference(example, false); ok {
			return in.follow(b, ref, example, depth)
		}
		return jsondoc.Append(b, m[k])
	})
}

// follow writes what a reference leads to in its place, with what stands
// beside the reference over it; or the reference as it is.
func (in *inliner) follow(b []byte, ref string, m map[string]any, depth int) []byte {
	c := in.refs.component(ref)
	if depth == 0 || c.value == nil || slices.Contains(in.open, c) {
		return jsondoc.Append(b, m)
	}
	in.refs.scan(c)
	if c.size > in.budget {
		return jsondoc.Append(b, m)
	}
	in.budget -= c.size
	v := c.value
	if target, ok := v.(map[string]any); ok && len(m) > 1 {
		v = overlay(target, m)
	} else if len(c.edges) == 0 {
		return jsondoc.Append(b, v)
	}
	in.open = append(in.open, c)
	b = in.append(b, v, false, depth-1)
	in.open = in.open[:len(in.open)-1]
	return b
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
