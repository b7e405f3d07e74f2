package rules

import (
	"regexp"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// rapidapi reads an endpoint as ToolBench writes those of RapidAPI.
func rapidapi(m map[string]any) schema.Document {
	d := schema.Document{
		Name: cmpOr(str(m["api_name"]), str(m["name"])),
		Tags: append(texts(first(m, "tool_name")), texts(first(m, "category_name", "category"))...),
	}
	w := newWalker(m)
	for _, group := range []struct {
		key      string
		required bool
	}{{"required_parameters", true}, {"optional_parameters", false}} {
		for _, p := range list(m[group.key]) {
			w.endpointParameter(object(p), group.required)
		}
	}
	d.Parameters, d.Flags = w.result()
	d.Response = templateResponse(first(m, "template_response", "response"))
	documented(&d, str(first(m, "api_description", "description")))
	return d
}

// endpointParameter takes the group's word for what is required. The default
// is what the site's form is filled with, so it is an example.
func (w *walker) endpointParameter(p map[string]any, required bool) {
	name := itemName(p)
	if name == "" {
		return
	}
	n := w.node(p)
	if n.example == nil && n.def != "" {
		n.example = n.def
	}
	n.def = nil
	w.add(name, n, required, 1)
}

// templateResponse tells the fields of a sample answer whose values are the
// names of their types.
func templateResponse(v any) string {
	v = embedded(v)
	dropLengths(v)
	switch v := v.(type) {
	case map[string]any, []any:
		s := shape(v, 3)
		return telling(s, s)
	case string:
		return templateKeys(v)
	}
	return ""
}

var templateKey = regexp.MustCompile(`"([A-Za-z_][\w.-]*)\\*"\s*:`)

// templateKeys tells the fields of a template that was cut off and is no JSON
// any more, or gives back what never was any.
func templateKeys(s string) string {
	if s = strings.Trim(s, "\" "); s == "" || scalarType(s) != "" {
		return ""
	}
	if !strings.ContainsRune("{[", rune(s[0])) {
		return s
	}
	props := map[string]any{}
	for _, m := range templateKey.FindAllStringSubmatch(s, maxEnum) {
		props[m[1]] = true
	}
	return telling(nil, map[string]any{"properties": props})
}

// dropLengths removes the marks that stand for the length of a list of which
// one element is shown.
func dropLengths(v any) {
	for _, e := range list(v) {
		dropLengths(e)
	}
	m := object(v)
	delete(m, "_list_length")
	for _, e := range m {
		dropLengths(e)
	}
}
