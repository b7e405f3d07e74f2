// Package toolschema gives every tool, whatever format its source has, one JSON Schema
// 2020-12 of what it takes, and one of what it answers where the source says so. It also
// says what kind of call a tool wants, checks the arguments of a call so that a model can
// mend them, and writes a tool's signature in one line.
//
// Schemas are derived from the raw document when they are wanted. Nothing is fetched.
package toolschema

import (
	"encoding/json"
	"strings"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/internal/operation"
	"github.com/toolstream/toolstream/internal/toolschema/dialect"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Schemas are those of one tool, in JSON Schema 2020-12 with sorted keys.
type Schemas struct {
	Input  json.RawMessage // of an object, with "type" and "properties"; it compiles
	Output json.RawMessage // nil where the source states none
}

// maxDepth bounds the nesting of a raw document that is read for its schemas. References
// put in place make one deeper than what a source may send.
const maxDepth = 512

func decode(raw []byte) (any, error) {
	return jsondoc.Decode(raw, jsondoc.Limits{Bytes: max(len(raw), 1), Depth: maxDepth, Nodes: max(len(raw), 1)})
}

// Of returns the schemas of the tool that raw describes in the format, one of those that
// items of the ingest service have. Where the format has no schema, or the document has
// another thing in its place, the input is what the parameters of doc say. It never
// fails: in the end, any object is taken.
func Of(format string, raw json.RawMessage, doc *schema.Document) Schemas {
	if format == "openapi" {
		if o, err := operation.Parse(raw); err == nil {
			return Schemas{o.Input(), o.Output()}
		}
	}
	v, err := decode(raw)
	if err != nil {
		v = nil
	}
	input, output := read(format, v)
	if input == nil {
		input, _ = dialect.Object(parametersSchema(format, doc), dialect.Input)
	}
	out := Schemas{Input: jsondoc.Canonical(input)}
	if len(output) > 0 {
		out.Output = jsondoc.Canonical(output)
	}
	return out
}

// read returns the schemas that a decoded document has itself, nil for one that it has not.
func read(format string, v any) (input, output map[string]any) {
	m, _ := v.(map[string]any)
	switch format {
	case "mcp", "function", "graphql", "protobuf", "json", "python":
		return function(m)
	case "langchain":
		return langchain(m)
	}
	return nil, nil
}

// function reads a tool as MCP lists it, or as OpenAI, Anthropic and Amazon Bedrock
// describe one to a model, bare or wrapped.
func function(m map[string]any) (input, output map[string]any) {
	for _, wrapper := range []string{"function", "toolSpec", "tool"} {
		if inner, ok := m[wrapper].(map[string]any); ok {
			m = inner
			break
		}
	}
	if s := schemaAt(m, "inputSchema", "input_schema", "parameters", "parametersJsonSchema"); s != nil {
		input, _ = dialect.Object(s, dialect.Input, s, m)
	}
	if s := schemaAt(m, "outputSchema", "output_schema", "returns", "response", "responses"); s != nil {
		output = dialect.Write(s, dialect.Output, s, m)
	}
	return input, output
}

// langchain reads {"lc","id","kwargs"} or the kwargs alone. An args_schema with "lc" is a
// class that could not be written.
func langchain(m map[string]any) (input, output map[string]any) {
	if kwargs, ok := m["kwargs"].(map[string]any); ok {
		m = kwargs
	}
	s := schemaAt(m, "args_schema")
	if s == nil || s["lc"] != nil {
		return nil, nil
	}
	input, _ = dialect.Object(s, dialect.Input, s, m)
	return input, nil
}

// schemaAt returns the value of the first key that has one, if that is an object schema,
// which may stand in {"json"} or be encoded as text.
func schemaAt(m map[string]any, keys ...string) map[string]any {
	for _, k := range keys {
		if m[k] == nil {
			continue
		}
		s, _ := jsondoc.Embedded(m[k]).(map[string]any)
		if inner, ok := s["json"].(map[string]any); ok && len(s) == 1 {
			s = inner
		}
		if isSchema(s) {
			return s
		}
		return nil
	}
	return nil
}

// isSchema tells a schema from a map of parameters, which may have one called "type" or
// "properties".
func isSchema(m map[string]any) bool {
	switch p := m["properties"].(type) {
	case []any:
		return true
	case map[string]any:
		for _, v := range p {
			switch v.(type) {
			case map[string]any, bool:
				return true
			}
		}
		if len(p) == 0 {
			return true
		}
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		if all, _ := m[k].([]any); len(all) > 0 {
			return true
		}
	}
	for _, k := range []string{"$ref", "$schema"} {
		if _, ok := m[k].(string); ok {
			return true
		}
	}
	switch t := m["type"].(type) {
	case string:
		switch strings.ToLower(t) {
		case "object", "dict", "array", "string", "number", "integer", "boolean":
			return onlySchemas(m)
		}
	case []any:
		return true
	}
	return m != nil && len(m) == 0
}

// onlySchemas reports that no member is a map of its own, as a parameter's description is,
// except under keywords that have one.
func onlySchemas(m map[string]any) bool {
	for k, v := range m {
		if _, ok := v.(map[string]any); !ok {
			continue
		}
		switch k {
		case "items", "additionalProperties", "patternProperties", "definitions", "$defs", "not", "default", "example", "propertyNames", "dependencies":
		default:
			if !strings.HasPrefix(k, "x-") {
				return false
			}
		}
	}
	return true
}
