package toolschema_test

import (
	"encoding/json"
	"maps"
	"math"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// instances makes values that fit schemas as toolschema.Of writes them: the properties that
// are required, with their constants, the first values of their enums, or the least that
// their type and bounds allow.
type instances struct {
	defs map[string]any
	all  bool // also the properties that are not required
}

func (g instances) of(v any, depth int) any {
	s := g.flat(v, 16)
	if c, ok := s["const"]; ok {
		return c
	}
	if all := list(s["enum"]); all != nil {
		return all[max(0, slices.IndexFunc(all, func(v any) bool { return v != "" }))]
	}
	types, ok := s["type"].([]any)
	if !ok {
		types = []any{s["type"]}
	}
	switch types[0] {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.array(s, depth)
	case "string":
		return text(s)
	case "integer", "number":
		return number(s)
	case "boolean":
		return true
	case "null":
		return nil
	}
	if s["properties"] != nil || s["required"] != nil {
		return g.object(s, depth)
	}
	return "any"
}

// flat returns a schema with all that it refers to, and the first of its alternatives.
func (g instances) flat(v any, depth int) map[string]any {
	s, _ := v.(map[string]any)
	if depth == 0 {
		return s
	}
	out := maps.Clone(s)
	if out == nil {
		out = map[string]any{}
	}
	parts := slices.Clone(list(s["allOf"]))
	if ref, ok := s["$ref"].(string); ok {
		parts = append(parts, g.defs[strings.TrimPrefix(ref, "#/$defs/")])
	}
	if any := list(s["anyOf"]); any != nil {
		parts = append(parts, any[0])
	}
	for _, part := range parts {
		merge(out, g.flat(part, depth-1))
	}
	return out
}

func merge(out, part map[string]any) {
	for k, v := range part {
		switch k {
		case "properties":
			own, _ := out[k].(map[string]any)
			both := maps.Clone(own)
			if both == nil {
				both = map[string]any{}
			}
			for name, s := range v.(map[string]any) {
				if both[name] != nil {
					s = map[string]any{"allOf": []any{both[name], s}}
				}
				both[name] = s
			}
			out[k] = both
		case "required":
			out[k] = append(slices.Clone(list(out[k])), v.([]any)...)
		case "type":
			if t, ok := out[k].([]any); ok && slices.Contains(t, v) || out[k] == nil {
				out[k] = v
			}
		default:
			if out[k] == nil {
				out[k] = v
			}
		}
	}
}

func (g instances) object(s map[string]any, depth int) any {
	props, _ := s["properties"].(map[string]any)
	out := map[string]any{}
	for _, name := range list(s["required"]) {
		out[name.(string)] = g.of(props[name.(string)], depth-1)
	}
	if g.all && depth > 0 {
		for name, p := range props {
			if _, there := out[name]; !there && p != false {
				out[name] = g.of(p, depth-1)
			}
		}
	}
	for i := 0; len(out) < integer(s["minProperties"]); i++ {
		if names := jsondoc.Keys(props); i < len(names) {
			out[names[i]] = g.of(props[names[i]], depth-1)
		} else {
			out["extra"+strings.Repeat("x", i)] = g.of(s["additionalProperties"], depth-1)
		}
	}
	return out
}

func (g instances) array(s map[string]any, depth int) any {
	out := []any{}
	n := integer(s["minItems"])
	if g.all && depth > 0 && n == 0 && (s["maxItems"] == nil || integer(s["maxItems"]) > 0) {
		n = 1
	}
	prefix := list(s["prefixItems"])
	for i := range min(n, 100) {
		item := s["items"]
		if i < len(prefix) {
			item = prefix[i]
		}
		v := g.of(item, depth-1)
		if s["uniqueItems"] == true && i > 0 {
			if t, ok := v.(string); ok {
				v = t + strings.Repeat("x", i)
			} else if n, ok := v.(json.Number); ok {
				v = json.Number(mustJSON(integer(n) + i))
			}
			if all := list(g.flat(item, 8)["enum"]); i < len(all) {
				v = all[i]
			}
		}
		out = append(out, v)
	}
	return out
}

func list(v any) []any {
	all, _ := v.([]any)
	return all
}

func integer(v any) int {
	n, _ := v.(json.Number)
	i, _ := n.Int64()
	return int(i)
}

func number(s map[string]any) any {
	bound := func(k string) (float64, bool) {
		n, ok := s[k].(json.Number)
		f, _ := n.Float64()
		return f, ok
	}
	least, low := bound("minimum")
	above, lower := bound("exclusiveMinimum")
	most, high := bound("maximum")
	below, higher := bound("exclusiveMaximum")
	step, steps := bound("multipleOf")
	if !steps {
		step = 1
	}
	v := 1.0
	switch {
	case low && (!lower || least > above):
		v = least
	case lower && (higher || high):
		v = (above + max(below, most)) / 2
	case lower:
		v = above + step
	case high && most < v:
		v = most
	case higher && below <= v:
		v = below - step
	}
	if steps || s["type"] == "integer" {
		v = math.Ceil(v/step) * step
	}
	return json.Number(mustJSON(v))
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func text(s map[string]any) string {
	out := map[any]string{"date": "2024-02-29", "date-time": "2024-02-29T12:00:00Z", "uuid": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "uri": "https://a.example/", "email": "a@b.example"}[s["format"]]
	if s["contentEncoding"] == "base64" {
		return "YQ=="
	}
	if out == "" {
		out = "a"
	}
	if p, ok := s["pattern"].(string); ok {
		out = matching(p, integer(s["minLength"]))
	}
	for len([]rune(out)) < integer(s["minLength"]) {
		out += "a"
	}
	if s["maxLength"] != nil && len(out) > integer(s["maxLength"]) {
		out = out[:integer(s["maxLength"])]
	}
	return out
}

// matching returns a text that a regular expression matches, of about least characters
// where it leaves that open.
func matching(pattern string, least int) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err)
	}
	var write func(re *syntax.Regexp) string
	write = func(re *syntax.Regexp) string {
		switch re.Op {
		case syntax.OpLiteral:
			return string(re.Rune)
		case syntax.OpCharClass:
			if len(re.Rune) == 0 {
				return ""
			}
			for i := 0; i < len(re.Rune); i += 2 {
				for _, r := range "a0A-_. /" {
					if re.Rune[i] <= r && r <= re.Rune[i+1] {
						return string(r)
					}
				}
			}
			return string(re.Rune[0])
		case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
			return "a"
		case syntax.OpCapture, syntax.OpAlternate:
			return write(re.Sub[0])
		case syntax.OpPlus:
			return strings.Repeat(write(re.Sub[0]), max(1, least))
		case syntax.OpStar:
			return strings.Repeat(write(re.Sub[0]), least)
		case syntax.OpRepeat:
			n := re.Min
			if least > n && (re.Max < 0 || least <= re.Max) {
				n = least
			}
			return strings.Repeat(write(re.Sub[0]), n)
		case syntax.OpConcat:
			out := ""
			for _, sub := range re.Sub {
				out += write(sub)
			}
			return out
		}
		return "" // of what is optional
	}
	return write(re)
}
