// Package apitest reads the OpenAPI document of a server, for tests of all operations.
package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Operation is an operation of the document.
type Operation struct {
	Method, Path   string
	Query, Headers []string // names of parameters
	Types          []string // content types of the body; empty: it takes none
	Example        string   // JSON that the schema of the body allows, with every member; may be empty
}

var variable = regexp.MustCompile(`\{[^}]*\}`)

// Fill returns the path of the operation with a value in place of each parameter.
func (o Operation) Fill(value func() string) string {
	return variable.ReplaceAllStringFunc(o.Path, func(string) string { return value() })
}

// Operations returns the operations of an OpenAPI document in JSON, sorted by path and method.
func Operations(document []byte) ([]Operation, error) {
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters  []struct{ Name, In string }
			RequestBody struct {
				Content map[string]struct{ Schema json.RawMessage }
			}
		}
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, fmt.Errorf("the OpenAPI document: %w", err)
	}
	var all []Operation
	for path, methods := range doc.Paths {
		for method, op := range methods {
			o := Operation{Method: strings.ToUpper(method), Path: path, Types: slices.Sorted(maps.Keys(op.RequestBody.Content))}
			for _, p := range op.Parameters {
				switch p.In {
				case "query":
					o.Query = append(o.Query, p.Name)
				case "header":
					o.Headers = append(o.Headers, p.Name)
				}
			}
			if raw := op.RequestBody.Content["application/json"].Schema; raw != nil {
				o.Example = exampleOf(raw, doc.Components.Schemas, 0)
			}
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b Operation) int { return strings.Compare(a.Path+a.Method, b.Path+b.Method) })
	return all, nil
}

// exampleOf returns a value that a JSON Schema of the document allows, with every member.
func exampleOf(raw json.RawMessage, schemas map[string]json.RawMessage, depth int) string {
	var s struct {
		Ref        string `json:"$ref"`
		Type       any
		Enum       []json.RawMessage
		Properties map[string]json.RawMessage
		Items      json.RawMessage
	}
	if json.Unmarshal(raw, &s) != nil || depth > 6 {
		return "null"
	}
	if s.Ref != "" {
		return exampleOf(schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")], schemas, depth+1)
	}
	if len(s.Enum) > 0 {
		return string(s.Enum[0])
	}
	switch kind, _ := s.Type.(string); kind {
	case "object":
		var members []string
		for name, member := range s.Properties {
			key, _ := json.Marshal(name)
			members = append(members, string(key)+":"+exampleOf(member, schemas, depth+1))
		}
		slices.Sort(members)
		return "{" + strings.Join(members, ",") + "}"
	case "string":
		return `"tides"`
	case "integer", "number":
		return "1"
	case "boolean":
		return "true"
	}
	return "[" + exampleOf(s.Items, schemas, depth+1) + "]"
}
