package formats

import (
	"encoding/json"
	"iter"
	"slices"
	"strconv"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// node is a value with the piece of the source that it was read from.
type node struct {
	value any
	text  []byte // nil where the source was not JSON
	path  string
}

// raw returns the value as JSON, in the order of the source if it has one.
func (n node) raw() json.RawMessage {
	if n.text != nil {
		return jsondoc.Compact(n.text)
	}
	return jsondoc.Canonical(n.value)
}

func (n node) object() map[string]any {
	m, _ := n.value.(map[string]any)
	return m
}

// at returns the member of an object. Its value is nil if the object has no such
// member.
func (n node) at(key string) node {
	child := node{value: n.object()[key], path: jsondoc.Pointer(n.path, key)}
	if n.text != nil {
		child.text = jsondoc.Member(n.text, key)
	}
	return child
}

// elements yields the elements of an array.
func (n node) elements() iter.Seq[node] {
	return func(yield func(node) bool) {
		list, _ := n.value.([]any)
		texts := slices.Collect(jsondoc.Elements(n.text))
		for i, v := range list {
			child := node{value: v, path: n.path + "/" + strconv.Itoa(i)}
			if n.text != nil {
				child.text = texts[i]
			}
			if !yield(child) {
				return
			}
		}
	}
}

// has reports whether the object has any of the keys.
func has(m map[string]any, keys ...string) bool {
	for _, k := range keys {
		if _, ok := m[k]; ok {
			return true
		}
	}
	return false
}

// str returns the first of the members that is a string with something in it.
func str(m map[string]any, keys ...string) string {
	for _, k := range keys {
		if s, ok := m[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

func isObject(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

func isArray(v any) bool {
	_, ok := v.([]any)
	return ok
}
