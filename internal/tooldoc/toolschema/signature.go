package toolschema

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/text"
)

// Bounds of a signature, in bytes.
const (
	maxSignature = 300
	maxAnswer    = 80 // of the output
	maxTyped     = 80 // of one type
)

// Signature tells a tool in one line of at most 300 bytes and the name, as
//
//	create_issue(owner*: string, repo*: string, labels: string[], state: "open"|"closed") -> {id, url}
//
// A star marks a required parameter. Required parameters come first, in the order of the
// schema's list, then the others by name. "…" replaces parameters that do not fit. The
// schemas are as Of returns them.
func Signature(name string, input, output json.RawMessage) string {
	answer := ""
	if v, err := decodeObject(output, 2*maxDepth); err == nil && len(v) > 0 {
		if t := typeText(v, defsOf(v), 2); t != "any" {
			answer = " -> " + short(t, maxAnswer)
		}
	}
	s, _ := decodeObject(input, 2*maxDepth)
	props, _ := s["properties"].(map[string]any)
	left := maxSignature - len("(, …)") - len(answer)
	var shown []string
	for _, p := range ordered(s, props) {
		one := plainName(p.name) + p.mark + ": " + short(typeText(props[p.name], defsOf(s), 2), maxTyped)
		if left -= len(one) + 2; left < 0 {
			shown = append(shown, "…")
			break
		}
		shown = append(shown, one)
	}
	return name + "(" + strings.Join(shown, ", ") + ")" + answer
}

// short cuts a text to at most n bytes, and marks the cut with "…".
func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return text.Truncate(s, n-len("…")) + "…"
}

type marked struct{ name, mark string }

// ordered returns the names of properties in the order of a signature.
func ordered(s, props map[string]any) []marked {
	var out []marked
	required := map[string]bool{}
	for _, v := range asList(s["required"]) {
		if name, ok := v.(string); ok && props[name] != nil && !required[name] {
			required[name] = true
			out = append(out, marked{name, "*"})
		}
	}
	for _, name := range jsondoc.Keys(props) {
		if !required[name] {
			out = append(out, marked{name, ""})
		}
	}
	return out
}

func asList(v any) []any {
	all, _ := v.([]any)
	return all
}

// decodeObject returns the JSON object of a text of any length, nil if it is another value.
func decodeObject(s json.RawMessage, depth int) (map[string]any, error) {
	v, err := jsondoc.Decode(s, jsondoc.Limits{Bytes: max(len(s), 1), Depth: depth, Nodes: max(len(s), 1)})
	m, _ := v.(map[string]any)
	return m, err
}

func defsOf(s map[string]any) map[string]any {
	defs, _ := s["$defs"].(map[string]any)
	return defs
}

var plain = regexp.MustCompile(`^[\pL_$@][\pL\pN_.$@\[\]-]{0,63}$`)

// plainName returns a name, quoted unless it is a plain word.
func plainName(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return quote(s)
}

// typeText writes a schema as a short type: string, "a"|"b", string[], {id, url}.
func typeText(v any, defs map[string]any, depth int) string {
	s, _ := v.(map[string]any)
	if ref, ok := s["$ref"].(string); ok && depth > 0 {
		return typeText(defs[strings.TrimPrefix(ref, "#/$defs/")], defs, depth-1)
	}
	if values := asList(s["enum"]); values != nil {
		return literals(values)
	}
	if c, there := s["const"]; there {
		return shown(c)
	}
	all := append(asList(s["anyOf"]), asList(s["oneOf"])...)
	if len(all) > 0 && s["type"] == nil {
		return joined(all, defs, depth)
	}
	switch t := s["type"].(type) {
	case string:
		return ofType(t, s, defs, depth)
	case []any:
		var types []string
		for _, one := range t {
			if word, ok := one.(string); ok {
				types = append(types, ofType(word, s, defs, depth))
			}
		}
		return strings.Join(types, "|")
	}
	if parts := asList(s["allOf"]); len(parts) == 1 {
		return typeText(parts[0], defs, depth)
	}
	if len(asList(s["allOf"])) > 0 {
		return "object"
	}
	return "any"
}

// literals writes as many values of an enum as fit.
func literals(values []any) string {
	var out []string
	size := 0
	for _, v := range values {
		one := shown(v)
		if size += len(one) + 1; size > maxTyped-4 {
			out = append(out, "…")
			break
		}
		out = append(out, one)
	}
	return strings.Join(out, "|")
}

func joined(all []any, defs map[string]any, depth int) string {
	if depth == 0 {
		return "any"
	}
	var out []string
	for _, v := range all[:min(len(all), 4)] {
		if t := typeText(v, defs, depth-1); !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	if slices.Contains(out, "any") {
		return "any"
	}
	return strings.Join(out, "|")
}

func ofType(t string, s, defs map[string]any, depth int) string {
	switch t {
	case "array":
		items := s["items"]
		if items == nil || depth == 0 {
			return "array"
		}
		inner := typeText(items, defs, depth-1)
		if strings.Contains(inner, "|") {
			return fmt.Sprintf("(%s)[]", inner)
		}
		return inner + "[]"
	case "object":
		return fields(s, depth)
	}
	return t
}

// fields writes the names of an object's properties.
func fields(s map[string]any, depth int) string {
	props, _ := s["properties"].(map[string]any)
	if len(props) == 0 || depth == 0 {
		return "object"
	}
	var out []string
	size := 0
	for _, p := range ordered(s, props) {
		name := plainName(p.name)
		if size += len(name) + 2; size > maxTyped-10 {
			out = append(out, "…")
			break
		}
		out = append(out, name)
	}
	return "{" + strings.Join(out, ", ") + "}"
}
