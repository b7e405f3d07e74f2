package dialect

import (
	"encoding/json"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/jsondoc"
)

// types writes the type: JSON Schema's words, in what case and language they stand.
func (w *writer) types(out, in map[string]any, base any) {
	switch t := in["type"].(type) {
	case string:
		word, format := typeWord(t)
		if word != "" {
			out["type"] = word
		}
		withFormat(out, format)
	case []any:
		w.union(out, t, base)
	}
	if out["type"] != nil || in["type"] != nil {
		return
	}
	if props, ok := out["properties"].(map[string]any); ok && len(props) > 0 {
		out["type"] = "object"
	} else if out["items"] != nil || out["prefixItems"] != nil {
		out["type"] = "array"
	}
}

// union writes a list of types. In draft 3 schemas may stand among them.
func (w *writer) union(out map[string]any, types []any, base any) {
	words, schemas := []any{}, []any{}
	for _, t := range types {
		switch t := t.(type) {
		case string:
			word, _ := typeWord(t)
			if word == "" {
				return // any type
			}
			if !slices.Contains(words, any(word)) {
				words = append(words, word)
			}
		case map[string]any:
			schemas = append(schemas, w.object(t, base))
		}
	}
	switch {
	case len(schemas) > 0:
		for _, word := range words {
			schemas = append(schemas, map[string]any{"type": word})
		}
		out["allOf"] = append(list(out["allOf"]), map[string]any{"anyOf": schemas})
	case len(words) == 1:
		out["type"] = words[0]
	case len(words) > 1:
		out["type"] = words
	}
}

// typeWord returns the JSON Schema type that a word means, "" for any or an unknown one,
// and the format that it implies.
func typeWord(word string) (name, format string) {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "string", "str", "text", "char", "varchar", "enum":
		return "string", ""
	case "date":
		return "string", "date"
	case "datetime", "date-time", "timestamp":
		return "string", "date-time"
	case "uuid", "uri", "email":
		return "string", strings.ToLower(word)
	case "url":
		return "string", "uri"
	case "file", "binary":
		return "string", "binary"
	case "integer", "int", "int32", "int64", "long", "short":
		return "integer", ""
	case "number", "float", "double", "decimal", "float32", "float64":
		return "number", ""
	case "boolean", "bool":
		return "boolean", ""
	case "array", "list":
		return "array", ""
	case "object", "dict", "map":
		return "object", ""
	case "null", "none":
		return "null", ""
	}
	return "", ""
}

func withFormat(m map[string]any, format string) map[string]any {
	if format != "" && m["format"] == nil {
		m["format"] = format
	}
	return m
}

// bounds writes exclusive bounds that were booleans.
func bounds(out, in map[string]any) {
	for exclusive, inclusive := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if n, there := out[inclusive]; there && in[exclusive] == true {
			out[exclusive] = n
			delete(out, inclusive)
		}
	}
}

// enum brings the values of an enum and the type together: texts that lost their quotes,
// values that cannot be because they have another type, and those of a list's elements.
// Where no value has the type, the values are what is meant.
func enum(out map[string]any) {
	all := list(out["enum"])
	if all == nil || out["type"] == nil {
		return
	}
	if out["type"] == "string" {
		for i, v := range all {
			switch v.(type) {
			case bool, json.Number:
				all[i] = string(jsondoc.Canonical(v))
			}
		}
	}
	fitting := slices.DeleteFunc(slices.Clone(all), func(v any) bool { return !hasType(out["type"], v) })
	if len(fitting) > 0 {
		out["enum"] = fitting
		return
	}
	if out["type"] != "array" {
		delete(out, "type")
		return
	}
	delete(out, "enum")
	items, ok := out["items"].(map[string]any)
	if !ok || items["enum"] != nil || items["$ref"] != nil {
		return
	}
	items["enum"] = all
	enum(items)
}

// hasType reports whether a value has the type or one of the types.
func hasType(types, v any) bool {
	if all, ok := types.([]any); ok {
		return slices.ContainsFunc(all, func(t any) bool { return hasType(t, v) })
	}
	switch v := v.(type) {
	case nil:
		return types == "null"
	case bool:
		return types == "boolean"
	case string:
		return types == "string"
	case json.Number:
		return types == "number" || types == "integer" && !strings.ContainsAny(string(jsondoc.Canonical(v)), ".e")
	case []any:
		return types == "array"
	}
	return types == "object"
}

// nullable are the keywords of OpenAPI 3.0, and of Swagger 2 by custom, that allow null.
var nullable = []string{"nullable", "x-nullable"}

// orNull allows null where the dialects before OpenAPI 3.1 say so.
func orNull(out, in map[string]any) map[string]any {
	if !slices.ContainsFunc(nullable, func(k string) bool { return in[k] == true }) {
		return out
	}
	null := map[string]any{"type": "null"}
	if any := list(out["anyOf"]); any != nil && isAnnotated(out) {
		out["anyOf"] = append(any, null)
		return out
	}
	for _, k := range []string{"$ref", "allOf", "anyOf", "const", "not", "if"} {
		if out[k] != nil {
			wrapped := map[string]any{"anyOf": []any{out, null}}
			if out["description"] != nil {
				wrapped["description"] = out["description"]
				delete(out, "description")
			}
			return wrapped
		}
	}
	if all := list(out["enum"]); all != nil && !slices.Contains(all, nil) {
		out["enum"] = append(all, nil)
	}
	switch t := out["type"].(type) {
	case string:
		if t != "null" {
			out["type"] = []any{t, "null"}
		}
	case []any:
		if !slices.Contains(t, any("null")) {
			out["type"] = append(t, "null")
		}
	}
	return out
}

// isAnnotated reports whether a schema has nothing but alternatives and what is said of
// them.
func isAnnotated(s map[string]any) bool {
	for k := range s {
		switch k {
		case "anyOf", "title", "description", "default", "examples", "deprecated":
		default:
			return false
		}
	}
	return true
}

// examples writes examples: a list, one alone, or OpenAPI's map of them.
func examples(out map[string]any, k string, v any) {
	all, isList := v.([]any)
	named, isMap := v.(map[string]any)
	switch {
	case k == "example":
		all = []any{v}
	case isMap:
		all = nil
		for _, name := range jsondoc.Keys(named) {
			if m, ok := named[name].(map[string]any); ok && m["value"] != nil {
				all = append(all, m["value"])
			}
		}
	case !isList:
		return
	}
	if len(all) > 0 && isData(all) {
		out["examples"] = slices.Clone(all)
	}
}

// literal is a regular expression as JavaScript writes one, which some put into a pattern.
var literal = regexp.MustCompile(`^/(\^.*\$)/([a-z]*)$`)

// expression returns the regular expression that a pattern means.
func expression(s string) string {
	m := literal.FindStringSubmatch(s)
	switch {
	case m == nil:
		return s
	case strings.Contains(m[2], "i"):
		return "(?i)" + m[1]
	}
	return m[1]
}

// isPattern reports whether Go can compile a regular expression.
func isPattern(s string) bool {
	_, err := syntax.Parse(s, syntax.Perl)
	return err == nil
}

// maxCount is the largest count that a bound may be; all above mean none.
const maxCount = 1 << 31

func count(v any) (json.Number, bool) {
	n, ok := number(v)
	if !ok {
		return "", false
	}
	f, _ := n.Float64()
	if f < 0 || f > maxCount || f != float64(int64(f)) {
		return "", false
	}
	return json.Number(strconv.FormatInt(int64(f), 10)), true
}

func isPositive(n json.Number) bool {
	f, _ := n.Float64()
	return f > 0
}

// number returns a number, also from its text.
func number(v any) (json.Number, bool) {
	n, ok := v.(json.Number)
	if s, isText := v.(string); isText {
		decoded, err := jsondoc.Decode([]byte(s), jsondoc.Limits{})
		if err != nil {
			return "", false
		}
		n, ok = decoded.(json.Number)
	}
	return n, ok && Plain(n)
}

// Plain reports whether a number can be worked with: exact arithmetic on one with a million
// digits, which a few characters can write, takes too long.
func Plain(n json.Number) bool {
	const digits, exponent = 400, 400
	if len(n) > digits {
		return false
	}
	_, e, ok := strings.Cut(strings.ToLower(string(n)), "e")
	if !ok {
		return true
	}
	i, err := strconv.Atoi(e)
	return err == nil && i >= -exponent && i <= exponent
}

// isData reports whether all numbers in a value are plain.
func isData(v any) bool {
	switch v := v.(type) {
	case json.Number:
		return Plain(v)
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !isData(e) })
	case map[string]any:
		for _, e := range v {
			if !isData(e) {
				return false
			}
		}
	}
	return true
}
