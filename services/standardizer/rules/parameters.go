package rules

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc/operation"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema/dialect"
	"github.com/toolstream/toolstream/pkg/schema"
)

// parameters reads the inputs of a document in any of the common shapes: a JSON Schema, a
// list of descriptions, a map from names to descriptions, a signature, or one of these as
// JSON text. A schema of one value is one parameter with the given name.
func parameters(v any, name string) ([]schema.Parameter, []string) {
	switch v := jsondoc.Embedded(v).(type) {
	case []any:
		// If any parameter says whether it is required, a parameter that does not say is
		// optional; otherwise all are required unless something says otherwise.
		c := newCollector(v)
		explicit := slices.ContainsFunc(v, saysRequired)
		for _, item := range v {
			switch item := item.(type) {
			case string:
				c.out = append(c.out, fromText(item)...)
			case map[string]any:
				c.item(itemName(item), item, !explicit)
			}
		}
		return c.result()
	case map[string]any:
		if isSchema(v) {
			return schemaParameters(v, name)
		}
		if body := object(v["body"]); body != nil && len(v) == 1 && !dialect.OnlyKeywords(body) {
			return parameters(body, name)
		}
		return fromMap(v)
	case string:
		return fromText(v), nil
	}
	return nil, nil
}

// isSchema tells a JSON Schema from a map of parameters, also by the types that only documents
// of tools have, such as "json".
func isSchema(m map[string]any) bool {
	types := words(m["type"])
	return dialect.IsSchema(m) || len(types) > 0 && scalarType(types[0]) != "" && dialect.OnlyKeywords(m)
}

// fromSchema reads the input schema of a format that has one. Documents that violate their
// format may have another description of parameters in its place.
func fromSchema(v any) ([]schema.Parameter, []string) {
	if m := object(jsondoc.Embedded(v)); str(m["type"]) == "object" {
		return schemaParameters(m, "input")
	}
	return parameters(v, "input")
}

// fromText reads parameters out of a signature or a section of prose.
func fromText(s string) []schema.Parameter {
	if sig, ok := signature(s); ok {
		return sig.parameters
	}
	return entryParameters(entries(s, nil))
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

// fromMap reads an object whose keys are the names of parameters.
func fromMap(m map[string]any) ([]schema.Parameter, []string) {
	required := words(m["required"])
	explicit := len(required) > 0 && !slices.ContainsFunc(required, func(n string) bool { _, ok := m[n]; return !ok })
	explicit = explicit || slices.ContainsFunc(slices.Collect(maps.Values(m)), saysRequired)
	c := newCollector(m)
	for _, name := range jsondoc.Keys(m) {
		if isSchemaKeyword(name, m[name]) {
			continue
		}
		item := object(m[name])
		if item == nil {
			item = fromValue(m[name])
		}
		c.item(name, item, !explicit || slices.Contains(required, name))
	}
	return c.result()
}

// isSchemaKeyword reports keywords of JSON Schema that name no parameter. Maps of parameters
// that look like schemas may have them.
func isSchemaKeyword(name string, v any) bool {
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

// fromValue makes a schema of something in the place of a schema: a type word, a
// description, or a value that the parameter takes.
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

// parametrized matches the types of libraries, which TypeName does not translate:
// "list[Flight]", "np.ndarray".
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

// item adds one described parameter, which is a schema or has one.
func (c *collector) item(name string, item map[string]any, required bool) {
	if name == "" {
		return
	}
	s := item
	if inner := object(operation.Schema(item)); inner != nil {
		s = map[string]any{"description": item["description"], "default": item["default"], "allOf": []any{inner}}
	}
	n := c.node(s)
	n.description = cmpOr(n.description, cmpOr(str(item["desc"]), str(item["help"])))
	if n.description == "" {
		n.description = str(item["summary"])
	}
	c.add(name, n, isRequired(item, n, required), 1)
}

var optional = regexp.MustCompile(`(?i)^\W*optional\b|[(\[,;]\s*optional\b|\boptional\s*[)\],;.:]|\b(?:is|an) optional\b|\bdefaults? (?:to|is|value)\b|[(\[]default\b`)

// isRequired decides whether a parameter is required. The argument silence is the answer
// for parameters that do not say.
func isRequired(item map[string]any, n node, silence bool) bool {
	switch r := item["required"].(type) {
	case bool:
		return r
	case string:
		switch provenance.Fold(r) {
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
