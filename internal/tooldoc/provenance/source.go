package provenance

import (
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// Source is a decoded raw document.
type Source struct {
	root any
	refs map[string]bool // names that references end in; nil until first needed
}

// NewSource returns the source with the value.
func NewSource(v any) *Source { return &Source{root: v} }

// Strings calls key for every key and text for every string with its path, in the order
// of the keys. The path is valid during the call only. JSON text in a string is read as the
// value that it encodes.
func (s *Source) Strings(key func(string), text func(path []string, s string)) {
	var path []string
	var walk func(v any)
	member := func(key string, v any) {
		path = append(path, key)
		walk(v)
		path = path[:len(path)-1]
	}
	walk = func(v any) {
		switch v := embedded(v).(type) {
		case string:
			text(path, v)
		case []any:
			for i, e := range v {
				member(strconv.Itoa(i), e)
			}
		case map[string]any:
			for _, k := range jsondoc.Keys(v) {
				key(k)
				member(k, v[k])
			}
		}
	}
	walk(s.root)
}

// At returns the value at a path, or nil.
func (s *Source) At(path []string) any {
	v := embedded(s.root)
	for _, key := range path {
		v = Child(v, key)
	}
	return v
}

// Child returns the member or element of v with the key, decoded if it is JSON text.
func Child(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		return embedded(v[key])
	case []any:
		if i, err := strconv.Atoi(key); err == nil && i < len(v) {
			return embedded(v[i])
		}
	}
	return nil
}

// embedded is jsondoc.Embedded, quick for strings that are plainly no JSON.
func embedded(v any) any {
	if s, ok := v.(string); ok && !strings.ContainsAny(s[:min(len(s), 1)], "{[\" \t\n\r") {
		return v
	}
	return jsondoc.Embedded(v)
}

// refersTo reports whether any reference in the source ends in a name.
func (s *Source) refersTo(name string) bool {
	if s.refs == nil {
		s.refs = map[string]bool{}
		var collect func(v any)
		collect = func(v any) {
			switch v := v.(type) {
			case []any:
				for _, e := range v {
					collect(e)
				}
			case map[string]any:
				if ref, ok := v["$ref"].(string); ok {
					s.refs[ref[strings.LastIndexByte(ref, '/')+1:]] = true
				}
				for _, e := range v {
					collect(e)
				}
			}
		}
		collect(s.root)
	}
	return s.refs[name]
}
