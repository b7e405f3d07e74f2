package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
)

// decode reads one JSON value and nothing after it. Numbers stay as written.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more follows after the first value")
	}
	return v, nil
}

// embedded returns the value that a string holds as JSON text, as sources
// produce that encode twice; any other value comes back as it is.
func embedded(v any) any {
	for range 2 {
		s, ok := v.(string)
		if !ok {
			return v
		}
		s = strings.TrimSpace(s)
		if s == "" || !strings.ContainsRune(`{["`, rune(s[0])) {
			return v
		}
		inner, err := decode([]byte(s))
		if err != nil {
			return v
		}
		v = inner
	}
	return v
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// str returns the text of a string, number or boolean; anything else has none.
func str(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	}
	return ""
}

// words returns the string, or the strings of the list, that v is.
func words(v any) []string {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	var out []string
	for _, e := range list(v) {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// texts is words, with the names of objects among them.
func texts(v any) []string {
	out := words(v)
	for _, e := range list(v) {
		if s := str(object(e)["name"]); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// keys returns an object's keys in order.
func keys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// jsonText returns a value's JSON text with sorted keys; nil, which says that
// there is no value, has none.
func jsonText(v any) string {
	if v == nil {
		return ""
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// small reports whether a value is worth rendering at all: a default that is a
// whole document is none.
func small(v any) bool {
	switch v := v.(type) {
	case string:
		return len(v) <= maxValue
	case []any:
		return len(v) <= maxEnum
	case map[string]any:
		return len(v) <= maxEnum
	}
	return true
}

// value returns the JSON text of a default or an example.
func value(v any) string {
	if !small(v) {
		return ""
	}
	return jsonText(v)
}

// everyString calls f for every string and every key inside v.
func everyString(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, e := range v {
			everyString(e, f)
		}
	case map[string]any:
		for _, k := range keys(v) { // what is found may lie across several
			f(k)
			everyString(v[k], f)
		}
	}
}

// paragraphs joins texts that are not empty, each once.
func paragraphs(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n\n")
}
