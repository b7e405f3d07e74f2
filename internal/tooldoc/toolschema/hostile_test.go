package toolschema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
)

// tool returns a tool of MCP with an input schema.
func tool(input string) json.RawMessage {
	return json.RawMessage(`{"name":"a","inputSchema":` + input + `}`)
}

// hostile are input schemas that are deep, large, circular or no schemas.
func hostile() map[string]string {
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprintf(`"p%d":{"type":"string","pattern":"(?=x)%d"}`, i, i)
	}
	chain := make([]string, 300)
	for i := range chain {
		chain[i] = fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, (i+1)%300, (i+7)%300)
	}
	return map[string]string{
		"deep properties":     strings.Repeat(`{"properties":{"a":`, 100) + `{}` + strings.Repeat(`}}`, 100),
		"too deep":            strings.Repeat(`{"not":`, 5000) + `{}` + strings.Repeat(`}`, 5000),
		"many properties":     `{"type":"object","properties":{` + strings.Join(many, ",") + `}}`,
		"circles":             `{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(chain, ",") + `}}`,
		"recursive":           `{"type":"object","properties":{"a":{"$ref":"#"},"b":{"items":{"$ref":"#/properties/b"}}}}`,
		"refers to itself":    `{"properties":{"a":{"$ref":"#/properties/a"}}}`,
		"refers to no schema": `{"properties":{"a":{"$ref":"#/required"},"b":{"$ref":"#/properties"}},"required":["a"]}`,
		"excludes itself":     `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"not":{"$ref":"#/$defs/n"}}}}`,
		"numbers":             `{"properties":{"a":{"minimum":-1e400,"maximum":1e400,"multipleOf":1e-400,"minLength":99999999999999999999,"enum":[1e400]}}}`,
		"patterns":            `{"properties":{"a":{"pattern":"[","format":"regex","default":"["}},"patternProperties":{"[":{},"(?<=x)":{},"x{5000}":true}}`,
		"booleans":            `{"properties":{"a":true,"b":false},"additionalProperties":true,"items":false}`,
		"null":                `null`,
		"list":                `[]`,
		"true":                `true`,
		"wrong everywhere":    `{"type":{},"properties":{"a":[],"b":null,"c":3},"required":{"a":true},"allOf":[null,3,[]],"items":[],"enum":{},"$defs":[],"$ref":[],"if":null}`,
		"vocabulary":          `{"$schema":"https://a.example/own","$vocabulary":{"https://a.example/v":true},"$id":"https://a.example/%zz","properties":{"a":{"$id":"#x","$anchor":"!","$dynamicAnchor":"1"}}}`,
		"equal identifiers":   `{"properties":{"a":{"$id":"x"},"b":{"$id":"x"}},"$defs":{"c":{"$anchor":"y"},"d":{"$anchor":"y"}}}`,
		"odd names":           `{"properties":{"":{},"a/b~c":{"$ref":"#/$defs/%2F"},"\u0001":{}},"$defs":{"/":{"type":"string"}}}`,
		"own metaschema":      `{"$ref":"https://json-schema.org/draft/2020-12/schema","$dynamicAnchor":"meta"}`,
	}
}

func TestHostileSchemasBecomeOnesThatCompile(t *testing.T) {
	for name, input := range hostile() {
		t.Run(name, func(t *testing.T) {
			s := toolschema.Of("mcp", tool(input), &schema.Document{Parameters: []schema.Parameter{{Name: "a"}}})
			mustServe(t, s)
			toolschema.Signature("a", s.Input, s.Output)
			for _, arguments := range []string{`{}`, `{"a":{"a":{"a":1}},"b":[[]]}`, `{"a":null}`} {
				_, _ = toolschema.Check(t.Context(), s.Input, json.RawMessage(arguments)) // returns
			}
		})
	}
}

// mustServe checks what Of promises of every input schema.
func mustServe(t *testing.T, s toolschema.Schemas) {
	t.Helper()
	v := check.Value(jsondoc.Decode(s.Input, jsondoc.Limits{Bytes: 16 << 20, Depth: 2000, Nodes: 1 << 20}))(t)
	root, _ := v.(map[string]any)
	if _, ok := root["properties"].(map[string]any); !ok || root["type"] != "object" {
		t.Errorf("no object schema: %.300s", s.Input)
	}
	if err := compiles(s.Input); err != nil {
		t.Errorf("%v\n%.2000s", err, s.Input)
	}
	if s.Output != nil {
		if err := compiles(s.Output); err != nil {
			t.Errorf("%v\n%.2000s", err, s.Output)
		}
	}
}

// FuzzOf reads documents of every format: the input schema always compiles, and checks
// what comes without a panic.
func FuzzOf(f *testing.F) {
	for _, input := range hostile() {
		f.Add("mcp", string(tool(input)), `{"a":1}`)
	}
	f.Add("openapi", `{"method":"GET","path":"/{a}","operation":{"parameters":[{"name":"a","in":"path","schema":{"nullable":true,"oneOf":[{"type":"integer"}]}}],"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/a"}}}}}}}`, `{"a":"x"}`)
	f.Add("function", `{"function":{"name":"a","parameters":{"type":"object","properties":{"a":{"type":"int","required":true}}}}}`, `"{}"`)
	f.Add("langchain", `{"kwargs":{"args_schema":{"$ref":"#/definitions/x","definitions":{"x":{"dependencies":{"a":"b"}}}}}}`, `[]`)
	f.Fuzz(func(t *testing.T, format, raw, arguments string) {
		s := toolschema.Of(format, json.RawMessage(raw), &schema.Document{Parameters: []schema.Parameter{{Name: raw, Type: format}}})
		mustServe(t, s)
		_, _ = toolschema.Check(t.Context(), s.Input, json.RawMessage(arguments)) // whatever it says
		toolschema.Signature("a", s.Input, s.Output)
		toolschema.HintsOf(format, json.RawMessage(raw))
	})
}
