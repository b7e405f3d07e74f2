package dialect

import (
	"regexp"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// TypeWord returns the JSON Schema type that a word of any dialect or programming language
// means, and the format that it implies. The name is "" for a word that means any type or
// that is unknown.
func TypeWord(word string) (name, format string) {
	switch word = strings.ToLower(strings.TrimSpace(word)); word {
	case "string", "str", "text", "char", "varchar", "enum":
		return "string", ""
	case "date":
		return "string", "date"
	case "datetime", "date-time", "timestamp":
		return "string", "date-time"
	case "uuid", "uri", "email":
		return "string", word
	case "url":
		return "string", "uri"
	case "file", "binary":
		return "string", "binary"
	case "integer", "int", "int32", "int64", "long", "short", "uint", "uint32", "uint64":
		return "integer", ""
	case "number", "float", "double", "decimal", "float32", "float64", "real":
		return "number", ""
	case "boolean", "bool":
		return "boolean", ""
	case "array", "list", "tuple", "set", "sequence", "iterable", "frozenset", "collection", "vec", "slice":
		return "array", ""
	case "object", "dict", "dictionary", "map", "mapping", "hash", "struct", "record":
		return "object", ""
	case "null", "none", "nonetype", "nil", "void":
		return "null", ""
	}
	return "", ""
}

// Properties returns the properties that the value of "properties" lists: a map, or a list
// of schemas that hold their own names.
func Properties(v any) map[string]any {
	props, ok := v.(map[string]any)
	if ok {
		return props
	}
	props = map[string]any{}
	for _, e := range list(v) {
		m, _ := e.(map[string]any)
		if name, _ := m["name"].(string); name != "" {
			props[name] = m
		}
	}
	return props
}

// Examples returns the examples in a schema or in the OpenAPI object around it: a list, a
// single example, or a map of named examples.
func Examples(m map[string]any) []any {
	if v, ok := m["example"]; ok {
		return []any{v}
	}
	named, ok := m["examples"].(map[string]any)
	if !ok {
		return list(m["examples"])
	}
	var all []any
	for _, name := range jsondoc.Keys(named) {
		if m, ok := named[name].(map[string]any); ok && m["value"] != nil {
			all = append(all, m["value"])
		}
	}
	return all
}

// IsSchema tells a JSON Schema from a map of parameters, which may have a parameter called
// "type" or "properties".
func IsSchema(m map[string]any) bool {
	switch props := m["properties"].(type) {
	case []any:
		return true
	case map[string]any:
		for _, v := range props {
			if isSchema(v) {
				return true
			}
		}
		if len(props) == 0 {
			return true
		}
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		if len(list(m[k])) > 0 {
			return true
		}
	}
	for _, k := range []string{"$ref", "$schema"} {
		if _, ok := m[k].(string); ok {
			return true
		}
	}
	types := list(m["type"])
	if types == nil {
		types = []any{m["type"]}
	}
	for _, t := range types {
		if word, ok := t.(string); ok {
			name, _ := TypeWord(word)
			return name != "" && OnlyKeywords(m)
		}
	}
	return m != nil && len(m) == 0
}

// isSchema reports whether a value can be a schema.
func isSchema(v any) bool {
	switch v.(type) {
	case map[string]any, bool:
		return true
	}
	return false
}

// keywords are the keywords of JSON Schema, drafts 4 to 2020-12, and of OpenAPI's schemas.
// "optional" belongs to no standard, but is used.
var keywords = regexp.MustCompile(`^(?:\$.*|x-.*|id|type|title|description|default|deprecated|readOnly|writeOnly|examples?|format|optional|nullable|` +
	`required|enum|const|multipleOf|(?:exclusive)?(?:Min|Max|min|max)imum|(?:min|max)(?:Length|Items|Properties|Contains)|uniqueItems|pattern|` +
	`properties|(?:pattern|additional|unevaluated)Properties|propertyNames|items|(?:prefix|additional|unevaluated)Items|contains|` +
	`allOf|anyOf|oneOf|not|if|then|else|dependencies|dependent(?:Schemas|Required)|definitions|` +
	`content(?:Encoding|MediaType|Schema)|discriminator|xml|externalDocs|strict)$`)

// OnlyKeywords reports whether every member of m is a keyword of a schema.
func OnlyKeywords(m map[string]any) bool {
	for k := range m {
		if !keywords.MatchString(k) {
			return false
		}
	}
	return true
}
