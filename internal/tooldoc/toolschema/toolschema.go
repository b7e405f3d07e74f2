// Package toolschema derives a JSON Schema 2020-12 of a tool's input from a source of any
// format, and a schema of its output if the source states it. It also describes the possible
// effects of a call, checks the arguments of a call with messages that show a model how to correct
// them, and writes a tool's signature in one line.
//
// Schemas are derived from the raw document on demand. Nothing is fetched.
package toolschema

import (
	"encoding/json"
	"slices"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
	"github.com/toolstream/toolstream/internal/tooldoc/operation"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema/dialect"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Schemas are the schemas of one tool, in JSON Schema 2020-12 with sorted keys.
type Schemas struct {
	Input  json.RawMessage // of an object, with "type" and "properties"; it compiles
	Output json.RawMessage // nil if the source states none
}

// maxDepth bounds the nesting of a raw document. Inlined references make a document deeper
// than a source may send.
const maxDepth = 512

// Of returns the schemas of the tool that raw describes in one of the formats of ingest. If
// the format has no schema, or the document has something else in its place, the input
// follows from the parameters of doc. Of never fails: in the end, the input is any object.
func Of(format string, raw json.RawMessage, doc *schema.Document) Schemas {
	if format == tooldoc.OpenAPI {
		if o, err := operation.Parse(raw); err == nil {
			return Schemas{o.Input(), o.Output()}
		}
	}
	var input, output map[string]any
	switch {
	case tooldoc.FormatOf(format).Schemas:
		m, _ := decodeObject(raw, maxDepth)
		input, output = function(m)
	case format == tooldoc.LangChain:
		m, _ := decodeObject(raw, maxDepth)
		input = langchain(m)
	}
	if input == nil {
		input, _ = dialect.Object(parametersSchema(format, doc), dialect.Input)
	}
	out := Schemas{Input: jsondoc.Canonical(input)}
	if len(output) > 0 {
		out.Output = jsondoc.Canonical(output)
	}
	return out
}

// function reads a tool as MCP lists it, or as OpenAI, Anthropic and Amazon Bedrock
// describe one to a model, bare or wrapped.
func function(m map[string]any) (input, output map[string]any) {
	m = Unwrapped(m)
	in, out := Declared(m)
	if s := embedded(in); s != nil {
		input, _ = dialect.Object(s, dialect.Input, s, m)
	}
	if s := embedded(out); s != nil {
		output = dialect.Write(s, dialect.Output, s, m)
	}
	return input, output
}

// Unwrapped returns the tool inside {"type": "function", "function": …} and its like.
func Unwrapped(m map[string]any) map[string]any {
	for _, wrapper := range []string{"function", "toolSpec", "tool"} {
		if inner, ok := m[wrapper].(map[string]any); ok {
			return inner
		}
	}
	return m
}

// Declared returns the values of the keys under which MCP and the vendors of models put the
// schemas of a tool's input and output, nil for an absent one. A document that violates its
// format may have anything there.
func Declared(m map[string]any) (input, output any) {
	first := func(keys ...string) any {
		for _, k := range keys {
			if m[k] != nil {
				return m[k]
			}
		}
		return nil
	}
	input = first("inputSchema", "input_schema", "parameters", "parametersJsonSchema")
	if outer, ok := input.(map[string]any); ok && len(outer) == 1 { // of Bedrock
		if inner, ok := outer["json"].(map[string]any); ok {
			input = inner
		}
	}
	return input, first("outputSchema", "output_schema", "returns", "response", "responses", "results")
}

// langchain reads {"lc","id","kwargs"} or the kwargs alone. An args_schema with "lc" is a
// class that could not be serialised.
func langchain(m map[string]any) (input map[string]any) {
	if kwargs, ok := m["kwargs"].(map[string]any); ok {
		m = kwargs
	}
	s := embedded(m["args_schema"])
	if s == nil || s["lc"] != nil {
		return nil
	}
	input, _ = dialect.Object(s, dialect.Input, s, m)
	return input
}

// embedded returns the schema that v is, encodes as JSON text or has as its only member "json",
// as Amazon Bedrock wraps schemas. It returns nil for any other value.
func embedded(v any) map[string]any {
	s, _ := jsondoc.Embedded(v).(map[string]any)
	if inner, ok := s["json"].(map[string]any); ok && len(s) == 1 {
		s = inner
	}
	if dialect.IsSchema(s) || saysObject(s) {
		return s
	}
	return nil
}

// saysObject reports whether a map has the type object and, except as values of keywords, no
// maps. It may have members that are not keywords, such as propertyOrdering.
func saysObject(m map[string]any) bool {
	types, isList := m["type"].([]any)
	if !isList {
		types = []any{m["type"]}
	}
	if !slices.Contains(types, any("object")) {
		return false
	}
	for k, v := range m {
		if _, isMap := v.(map[string]any); isMap && !dialect.OnlyKeywords(map[string]any{k: v}) {
			return false
		}
	}
	return true
}
