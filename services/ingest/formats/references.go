package formats

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// A part of an operation is written with the references in it put in place, as
// deep as the budget allows for all of them alike: the outer levels of every
// parameter matter more than the innermost of the first. What lies beyond
// stays a reference, so that the document of an operation is bounded by its
// own text and these budgets.
type part struct {
	keys     []string
	depth    int  // references in references
	bytes    int  // of text put in place
	examples bool // also whole examples
}

var (
	inputs    = part{keys: []string{"parameters", "requestBody", "inputSchema"}, depth: 8, bytes: 32 << 10, examples: true}
	responses = part{keys: []string{"responses", "outputSchema"}, depth: 3, bytes: 16 << 10}
)

// references resolves the references of one document.
type references struct {
	doc   map[string]any
	sizes map[uintptr]int // bytes of an object's text
}

// reference returns the reference that an object is; in a map from names
// "$ref" is a name.
func reference(m map[string]any, names bool) (string, bool) {
	ref, ok := m["$ref"].(string)
	return ref, ok && !names
}

// isOutward reports whether a reference leaves the document. An anchor or an
// empty reference stays and leads nowhere.
func isOutward(ref string) bool { return ref != "" && ref[0] != '#' }

// outward refuses a reference out of the document: nothing is ever fetched.
func outward(at, ref string) *Problem {
	return &Problem{Path: at + "/$ref", Reason: ExternalRef, Detail: "it refers to " + schema.Quote(ref)}
}

// resolve returns the object that a reference leads to, nil without one.
func (r *references) resolve(ref string) map[string]any {
	v, _ := jsondoc.Resolve(r.doc, ref)
	m, _ := v.(map[string]any)
	return m
}

// pointerOf identifies an object.
func pointerOf(m map[string]any) uintptr { return reflect.ValueOf(m).Pointer() }

// operationText returns an operation's canonical text with local references
// put in place. A reference that leaves the document is a problem.
func (r *references) operationText(op map[string]any, at string) ([]byte, *Problem) {
	texts := map[string][]byte{}
	p := cmp.Or(r.write(op, inputs, at, texts), r.write(op, responses, at, texts))
	rest := &inliner{references: r, base: at}
	text := appendObject(nil, op, func(b []byte, k string) []byte {
		if text, written := texts[k]; written {
			return append(b, text...)
		}
		return rest.member(b, op, k, false, 0)
	})
	return text, cmp.Or(p, rest.problem)
}

// write adds the texts of a part of an operation.
func (r *references) write(op map[string]any, p part, at string, texts map[string][]byte) *Problem {
	for depth := p.depth; ; depth-- {
		in := &inliner{references: r, base: at, left: p.bytes, examples: p.examples, whole: depth > 1}
		for _, k := range p.keys {
			if op[k] != nil {
				texts[k] = in.member(make([]byte, 0, 4<<10), op, k, false, depth)
			}
		}
		if !in.over || depth == 1 {
			return in.problem
		}
	}
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
	*references
	left     int  // bytes that may still be put in place
	over     bool // something did not fit
	whole    bool // the text is of no use once something did not fit
	examples bool
	open     []uintptr // targets being expanded, to end circles
	base     string    // pointer to the start of path
	path     []string  // to the value being written
	problem  *Problem  // the first reference that leaves the document
}

// append appends a value. In a map from names the keys are not keywords.
func (in *inliner) append(b []byte, v any, names bool, depth int) []byte {
	switch v := v.(type) {
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = in.child(b, strconv.Itoa(i), e, false, depth)
		}
		return append(b, ']')
	case map[string]any:
		if ref, ok := reference(v, names); ok {
			return in.follow(b, ref, v, depth)
		}
		return appendObject(b, v, func(b []byte, k string) []byte { return in.member(b, v, k, names, depth) })
	}
	return jsondoc.Append(b, v)
}

func (in *inliner) child(b []byte, token string, v any, names bool, depth int) []byte {
	in.path = append(in.path, token)
	b = in.append(b, v, names, depth)
	in.path = in.path[:len(in.path)-1]
	return b
}

// member appends the value of a member. The content of an example is data, but
// the example itself is not.
func (in *inliner) member(b []byte, m map[string]any, k string, names bool, depth int) []byte {
	if names || !isData(k) {
		return in.child(b, k, m[k], !names && isMap(k), depth)
	}
	all, ok := m[k].(map[string]any)
	if k != "examples" || !in.examples || !ok {
		return jsondoc.Append(b, m[k])
	}
	return appendObject(b, all, func(b []byte, k string) []byte {
		example, _ := all[k].(map[string]any)
		if ref, ok := reference(example, false); ok {
			return in.follow(b, ref, example, depth)
		}
		return jsondoc.Append(b, all[k])
	})
}

// follow replaces a reference by its target, overlaid with the other members of m. It
// writes m unchanged if it cannot follow the reference.
func (in *inliner) follow(b []byte, ref string, m map[string]any, depth int) []byte {
	if isOutward(ref) && in.problem == nil {
		in.problem = outward(jsondoc.Pointer(in.base, in.path...), ref)
	}
	target := in.resolve(ref)
	if depth == 0 || target == nil || in.over && in.whole || slices.Contains(in.open, pointerOf(target)) {
		return jsondoc.Append(b, m)
	}
	at := pointerOf(target)
	if _, known := in.sizes[at]; !known {
		in.sizes[at] = len(jsondoc.Canonical(target))
	}
	size := in.sizes[at]
	if size > in.left {
		in.over = true
		return jsondoc.Append(b, m)
	}
	in.left -= size
	in.open = append(in.open, pointerOf(target))
	if len(m) > 1 {
		target = overlay(target, m)
	}
	base, path := in.base, in.path
	in.base, in.path = strings.TrimPrefix(ref, "#"), nil
	b = in.append(b, target, false, depth-1)
	in.base, in.path = base, path
	in.open = in.open[:len(in.open)-1]
	return b
}

// isData reports keywords whose values are data, not schemas.
func isData(keyword string) bool {
	switch keyword {
	case "example", "examples", "default", "const", "enum", "value", "required":
		return true
	}
	return strings.HasPrefix(keyword, "x-")
}

// isMap reports keywords whose values are maps from names.
func isMap(keyword string) bool {
	switch keyword {
	case "properties", "patternProperties", "definitions", "$defs", "dependentSchemas",
		"schemas", "responses", "parameters", "requestBodies", "headers", "links", "callbacks",
		"pathItems", "content", "encoding", "variables", "paths", "mapping":
		return true
	}
	return false
}
