package rules

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// parameters reads what a document says of its inputs in any of the common
// shapes: a JSON Schema, a list of descriptions, a map from names to
// descriptions, a signature, or one of these as JSON text. A schema of one
// value is one parameter with the given name.
func parameters(v any, name string) ([]schema.Parameter, []string) {
	switch v := embedded(v).(type) {
	case []any:
		return listed(v)
	case map[string]any:
		if isSchema(v) {
			return schemaParameters(v, name)
		}
		return mapped(v)
	case string:
		return described(v), nil
	}
	return nil, nil
}

// described reads parameters out of a signature or a section of prose.
func described(s string) []schema.Parameter {
	if sig, ok := signature(s); ok {
		return sig.parameters
	}
	if table := tableEntries(s); len(table) > 0 {
		return entryParameters(table)
	}
	return entryParameters(entries(s, nil))
}

// isSchema tells a JSON Schema from a map of parameters, one of which may be
// called "type" or "properties".
func isSchema(m map[string]any) bool {
	if props, ok := m["properties"]; ok && (list(props) != nil || holdsSchemas(object(props))) {
		return true
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		if len(list(m[k])) > 0 {
			return true
		}
	}
	if _, ok := m["$ref"].(string); ok {
		return true
	}
	if _, ok := m["$schema"].(string); ok {
		return true
	}
	types := words(m["type"])
	return len(types) > 0 && scalarType(types[0]) != "" && onlyKeywords(m)
}

// holdsSchemas tells an object of properties from the description of a
// parameter.
func holdsSchemas(m map[string]any) bool {
	for _, v := range m {
		switch v.(type) {
		case map[string]any, bool:
			return true
		}
	}
	return m != nil && len(m) == 0
}

// keywords are those of JSON Schema, of draft 4 to 2020-12, and of OpenAPI's schemas,
// but for the ones that begin with $ or x-; "optional" is nobody's, and used.
var keywords = regexp.MustCompile(`^(?:\$.*|x-.*|id|type|title|description|default|deprecated|readOnly|writeOnly|examples?|format|optional|nullable|` +
	`required|enum|const|multipleOf|(?:exclusive)?(?:Min|Max|min|max)imum|(?:min|max)(?:Length|Items|Properties|Contains)|uniqueItems|pattern|` +
	`properties|(?:pattern|additional|unevaluated)Properties|propertyNames|items|(?:prefix|additional|unevaluated)Items|contains|` +
	`allOf|anyOf|oneOf|not|if|then|else|dependencies|dependent(?:Schemas|Required)|definitions|` +
	`content(?:Encoding|MediaType|Schema)|discriminator|xml|externalDocs|strict)$`)

func onlyKeywords(m map[string]any) bool {
	for k := range m {
		if !keywords.MatchString(k) {
			return false
		}
	}
	return true
}

// declared reads what a format says to be a JSON Schema, whatever else it holds.
// Documents that are not true to their format have something else in its place.
func declared(v any) ([]schema.Parameter, []string) {
	if m := object(embedded(v)); str(m["type"]) == "object" {
		return schemaParameters(m, "input")
	}
	return parameters(v, "input")
}

// listed reads a list whose elements describe one parameter each. As soon as
// one of them says whether it is required, silence means that it is not;
// before, a parameter is required unless something says otherwise.
func listed(items []any) ([]schema.Parameter, []string) {
	w := newWalker(items)
	explicit := slices.ContainsFunc(items, func(v any) bool { _, ok := object(v)["required"].(bool); return ok })
	for _, item := range items {
		switch item := item.(type) {
		case string:
			w.out = append(w.out, described(item)...)
		case map[string]any:
			w.item(itemName(item), item, !explicit)
		}
	}
	return w.result()
}

func itemName(item map[string]any) string {
	for _, k := range []string{"name", "parameter", "param", "argument", "arg", "field", "key", "param_name", "parameter_name", "id"} {
		if s := str(item[k]); s != "" {
			return s
		}
	}
	return ""
}

// mapped reads an object whose keys are the parameters' names.
func mapped(m map[string]any) ([]schema.Parameter, []string) {
	required := words(m["required"])
	explicit := len(required) > 0 && !slices.ContainsFunc(required, func(n string) bool { _, ok := m[n]; return !ok })
	explicit = explicit || slices.ContainsFunc(slices.Collect(maps.Values(m)), func(v any) bool {
		_, ok := object(v)["required"].(bool)
		return ok
	})
	w := newWalker(m)
	for _, name := range keys(m) {
		if name == "required" && len(required) > 0 {
			continue
		}
		item := object(m[name])
		if item == nil {
			item = glossed(m[name])
		}
		w.item(name, item, !explicit || slices.Contains(required, name))
	}
	return w.result()
}

// glossed makes a schema of what stands in place of one: a type word, a
// description, or a value such as the parameter takes.
func glossed(v any) map[string]any {
	s, ok := v.(string)
	switch {
	case !ok:
		return map[string]any{"type": jsonType(v), "example": v}
	case isTypeText(s):
		return map[string]any{"type": s}
	case strings.Contains(strings.TrimSpace(s), " "):
		return map[string]any{"description": s}
	}
	return map[string]any{"type": "string", "example": v}
}

// parametrized finds the types of libraries, which have no word of their own
// here: "list[Flight]", "np.ndarray".
var parametrized = regexp.MustCompile(`^[A-Za-z_][\w.]*\[[^\s:]+\]$|^[a-z]\w*(?:\.\w+)+$`)

// isTypeText reports whether the text is a type and nothing else.
func isTypeText(s string) bool {
	for t := range strings.SplitSeq(typeName(s), " or ") {
		for strings.HasPrefix(t, "array of ") {
			t = strings.TrimPrefix(t, "array of ")
		}
		if scalarType(t) == "" && !parametrized.MatchString(t) {
			return false
		}
	}
	return true
}

// item adds one described parameter. Its schema may stand inside it or be the
// item itself.
func (w *walker) item(name string, item map[string]any, required bool) {
	if name == "" {
		return
	}
	s := item
	if inner := innerSchema(item); inner != nil {
		s = map[string]any{"description": item["description"], "default": item["default"], "allOf": []any{inner}}
	}
	n := w.node(s)
	n.description = cmpOr(n.description, cmpOr(str(item["desc"]), str(item["help"])))
	if n.description == "" {
		n.description = str(item["summary"])
	}
	w.add(name, n, isRequired(item, n, required), 1)
}

func innerSchema(item map[string]any) any {
	if s := object(item["schema"]); s != nil {
		return s
	}
	content := object(item["content"])
	for _, k := range keys(content) {
		if s := object(object(content[k])["schema"]); s != nil {
			return s
		}
	}
	return nil
}

var optional = regexp.MustCompile(`(?i)^\W*optional\b|[(\[,;]\s*optional\b|\boptional\s*[)\],;.:]|\b(?:is|an) optional\b|\bdefaults? (?:to|is|value)\b|[(\[]default\b`)

// isRequired decides for a source in which silence means that a parameter is
// required, or, where others are marked, that it is not.
func isRequired(item map[string]any, n node, silence bool) bool {
	switch r := item["required"].(type) {
	case bool:
		return r
	case string:
		switch fold(r) {
		case "true", "yes", "required", "1", "y", "mandatory", "always":
			return true
		}
		return false
	}
	if item["in"] == "path" {
		return true
	}
	if item["optional"] == true || item["nullable"] == true || n.def != nil {
		return false
	}
	return silence && !optional.MatchString(n.description) && !optional.MatchString(strings.Join(words(item["type"]), " "))
}
