package dialect

import (
	"encoding/json"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// types writes the type, which may be in any case and in the words of any language.
func (w *writer) types(out, in map[string]any, base any) {
	switch t := in["type"].(type) {
	case string:
		word, format := TypeWord(t)
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
			word, _ := TypeWord(t)
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

func withFormat(m map[string]any, format string) map[string]any {
	if format != "" && m["format"] == nil {
		m["format"] = format
	}
	return m
}

// enum reconciles the values of an enum with the type: it quotes texts that lost their
// quotes, drops values of another type, and moves values of a list's elements to them. If
// no value has the type, the values win.
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

// orNull allows null if the dialects before OpenAPI 3.1 do.
func orNull(out, in map[string]any) map[string]any {
	if !slices.ContainsFunc(nullable, func(k string) bool { return in[k] == true }) {
		return out
	}
	null := map[string]any{"type": "null"}
	if any := list(out["anyOf"]); any != nil && !slices.ContainsFunc(slices.Collect(maps.Keys(out)), isAssertion) {
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

// isAssertion reports keywords that are neither alternatives nor annotations.
func isAssertion(keyword string) bool {
	return !slices.Contains([]string{"anyOf", "title", "description", "default", "examples", "deprecated"}, keyword)
}

// literal matches a regular expression in the syntax of JavaScript, which some put into a
// pattern.
var literal = regexp.MustCompile(`^/(\^.*\$)/([a-z]*)$`)

// isPattern reports whether Go can compile a regular expression. It reads no more patterns than one
// schema may have: a few bytes can take milliseconds.
func (w *writer) isPattern(s string) bool {
	cost := PatternCost(s)
	if cost > w.patterns {
		return false
	}
	w.patterns -= cost
	_, err := syntax.Parse(s, syntax.Perl)
	return err == nil
}

// maxPatterns bounds the PatternCost of the patterns of one schema.
const maxPatterns = 50_000_000

// PatternCost returns how many nanoseconds it takes at most to parse a regular expression.
func PatternCost(s string) int {
	const (
		perByte     = 500
		perLongByte = 3_000 // of a long pattern: the parser looks at the parts before again
		quantifier  = 10_000
		class       = 60_000    // a class of Unicode
		either      = 3_000_000 // a range of characters in upper and lower case
	)
	cost := len(s) * perLongByte
	if len(s) < 1000 {
		cost = len(s)*perByte + strings.Count(s, "{")*quantifier
	}
	cost += (strings.Count(s, `\p`) + strings.Count(s, `\P`)) * class
	if !folds.MatchString(s) {
		return cost
	}
	far := strings.Count(s, `\x{`)
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			far++
		}
	}
	return cost + far*either
}

// folds matches the flag that makes upper and lower case the same.
var folds = regexp.MustCompile(`\(\?[a-zA-Z]*i`)

// maxCount is the largest count of a bound; a larger count is ignored.
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

// Plain reports whether a number is cheap to compute with: a few characters can write a
// number of a million digits, and exact arithmetic on it takes too long.
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
