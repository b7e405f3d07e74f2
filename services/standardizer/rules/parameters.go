package rules

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// parameters reads what a document says of its inputs in any of the common
// shapes: a JSON Schema, a list of descriptions, a map from names to
// descriptions, a signature, or one of these as JSON text. A schema of one
// value is one parameter with the given name.
func parameters(v any, name string) ([]schema.Parameter, []string) {
	switch v := embedded(v).(type) {
	case []any:
		return fromList(v)
	case map[string]any:
		if isSchema(v) {
			return schemaParameters(v, name)
		}
		if body := object(v["body"]); body != nil && len(v) == 1 && !onlyKeywords(body) {
			return parameters(body, name)
		}
		return fromMap(v)
	case string:
		return fromText(v), nil
	}
	return nil, nil
}

// fromText reads parameters out of a signature or a section of prose.
func fromText(s string) []schema.Parameter {
	if sig, ok := signature(s); ok {
		return sig.parameters
	}
	return entryParameters(entries(s, nil))
}

// isSchema tells a JSON Schema from a map of parameters, which may have one
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
// but for the ones that begin with $ or x-; "optional" belongs to no
// standard, but is used.
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

// fromSchema reads the input schema of a format that has one. Some documents
// violate their format and have another description of parameters in its place.
func fromSchema(v any) ([]schema.Parameter, []string) {
	if m := object(embedded(v)); str(m["type"]) == "object" {
		return schemaParameters(m, "input")
	}
	return parameters(v, "input")
}

// fromList reads a list whose elements describe one parameter each. As soon as
// one of them says whether it is required, silence means that it is not;
// before, a parameter is required unless something says otherwise.
func fromList(items []any) ([]schema.Parameter, []string) {
	w := newWalker(items)
	explicit := slices.ContainsFunc(items, saysRequired)
	for _, item := range items {
		switch item := item.(type) {
		case string:
			w.out = append(w.out, fromText(item)...)
		case map[string]any:
			w.item(itemName(item), item, !explicit)
		}
	}
	return w.result()
}

func saysRequired(item any) bool {
	_, ok := object(item)["required"].(bool)
	return ok
}

func itemName(item map[string]any) string {
	for _, k := range []string{"name", "parameter", "param", "argument", "arg", "field", "key", "param_name", "parameter_name", "id"} {
		if s := str(item[k]); s != "" {
			return s
		}
	}
	return ""
}

// fromMap reads an object whose keys are the parameters' names.
func fromMap(m map[string]any) ([]schema.Parameter, []string) {
	required := words(m["required"])
	explicit := len(required) > 0 && !slices.ContainsFunc(required, func(n string) bool { _, ok := m[n]; return !ok })
	explicit = explicit || slices.ContainsFunc(slices.Collect(maps.Values(m)), saysRequired)
	w := newWalker(m)
	for _, name := range jsondoc.Keys(m) {
		if schemaOnly(name, m[name]) {
			continue
		}
		item := object(m[name])
		if item == nil {
			item = fromValue(m[name])
		}
		w.item(name, item, !explicit || slices.Contains(required, name))
	}
	return w.result()
}

// schemaOnly reports keywords of JSON Schema that name no parameter: they
// stand beside parameters in schemas that are not true to the standard.
func schemaOnly(name string, v any) bool {
	switch name {
	case "additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties",
		"dependentRequired", "dependentSchemas", "$defs", "$id", "$comment", "$anchor":
		return true
	case "required":
		_, isList := v.([]any)
		return isList
	}
	return false
}

// fromValue makes a schema of what stands in place of one: a type word, a
// description, or a value such as the parameter takes.
func fromValue(v any) map[string]any {
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
	for t := range strings.SplitSeq(TypeName(s), " or ") {
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
	for _, k := range jsondoc.Keys(content) {
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
