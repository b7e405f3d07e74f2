package toolschema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestEveryFormatHasAnInputSchema(t *testing.T) {
	doc := &schema.Document{Parameters: []schema.Parameter{
		{Name: "city", Type: "string", Required: true, Description: "Where"},
		{Name: "days", Type: "integer", Default: "3"},
		{Name: "units", Type: "string", Enum: []string{"metric", "imperial"}},
		{Name: "address.zip", Type: "string", Required: true},
		{Name: "items[].sku", Type: "string", Required: true},
		{Name: "items[].tags", Type: "array of string"},
		{Name: "since", Type: "string (date-time)"},
		{Name: "limit", Type: "integer or string", Enum: []string{"1", "all"}},
		{Name: "level", Type: "integer", Enum: []string{"1", "2"}},
		{Name: "plot", Type: "np.ndarray", Example: "[1]"},
	}}
	fromDocument := `{"properties":{` +
		`"address":{"properties":{"zip":{"type":"string"}},"required":["zip"],"type":"object"},` +
		`"city":{"description":"Where","type":"string"},"days":{"default":3,"type":"integer"},` +
		`"items":{"items":{"properties":{"sku":{"type":"string"},"tags":{"items":{"type":"string"},"type":"array"}},"required":["sku"],"type":"object"},"type":"array"},` +
		`"level":{"enum":[1,2],"type":"integer"},"limit":{"anyOf":[{"type":"integer"},{"type":"string"}],"enum":["1",1,"all"]},` +
		`"plot":{"examples":[[1]]},"since":{"format":"date-time","type":"string"},"units":{"enum":["metric","imperial"],"type":"string"}},` +
		`"required":["address","city","items"],"type":"object"}`
	own := `{"properties":{"q":{"type":"string"}},"required":["q"],"type":"object"}`
	given := `{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`
	for _, c := range []struct{ name, format, raw, input, output string }{
		{"MCP", "mcp", `{"name":"a","inputSchema":` + given + `,"outputSchema":{"type":"object","properties":{"n":{"type":"integer","writeOnly":true},"m":{"readOnly":true}}}}`, own, `{"properties":{"m":{}},"type":"object"}`},
		{"OpenAI, wrapped", "function", `{"type":"function","function":{"name":"a","parameters":` + given + `}}`, own, ""},
		{"OpenAI, bare", "function", `{"name":"a","parameters":` + given + `}`, own, ""},
		{"Anthropic", "function", `{"name":"a","input_schema":` + given + `}`, own, ""},
		{"Bedrock", "function", `{"toolSpec":{"name":"a","inputSchema":{"json":` + given + `}}}`, own, ""},
		{"Strands", "function", `{"name":"a","inputSchema":{"json":` + given + `},"outputSchema":{"json":` + given + `}}`, own, own},
		{"Bedrock, encoded as text", "function", `{"name":"a","parameters":` + quoted(`{"json":`+given+`}`) + `}`, own, ""},
		{"nothing to give, and another vendor's keyword", "mcp", `{"name":"a","inputSchema":{"type":"object","propertyOrdering":[]}}`, `{"properties":{},"type":"object"}`, ""},
		{"an object or null, and another vendor's keyword", "mcp", `{"name":"a","inputSchema":{"type":["object","null"],"additional_properties":false}}`, `{"properties":{},"type":"object"}`, ""},
		{"a description of a type", "json", `{"name":"a","parameters":{"type":"object","city":{"type":"string"}}}`, fromDocument, ""},
		{"encoded twice", "mcp", `{"name":"a","inputSchema":` + quoted(given) + `}`, own, ""},
		{"LangChain", "langchain", `{"lc":1,"kwargs":{"name":"a","args_schema":` + given + `}}`, own, ""},
		{"LangChain without schema", "langchain", `{"lc":1,"kwargs":{"name":"a","args_schema":{"lc":1,"type":"not_implemented"}}}`, fromDocument, ""},
		{"GraphQL", "graphql", `{"name":"a","inputSchema":` + given + `,"outputSchema":{"type":"array","items":{"$ref":"#/$defs/Far"}}}`, own, `{"items":{},"type":"array"}`},
		{"protobuf", "protobuf", `{"name":"a","inputSchema":` + given + `}`, own, ""},
		{"JSON with a schema", "json", `{"name":"a","parameters":` + given + `}`, own, ""},
		{"JSON with descriptions", "json", `{"name":"a","parameters":{"type":{"type":"string"},"city":{"type":"string"}}}`, fromDocument, ""},
		{"a list in place of a schema", "mcp", `{"name":"a","inputSchema":[{"name":"city"}]}`, fromDocument, ""},
		{"no schema", "mcp", `{"name":"a"}`, fromDocument, ""},
		{"a schema of no object", "mcp", `{"name":"a","inputSchema":{"type":"string"}}`, fromDocument, ""},
		{"a text", "text", `"a tool"`, fromDocument, ""},
		{"skill", "skill", `{"front_matter":{},"instructions":"x"}`, fromDocument, ""},
		{"A2A", "a2a", `{"id":"a"}`, fromDocument, ""},
		{"card", "card", `{"parameters":{"type":"object"}}`, fromDocument, ""},
		{"not JSON", "mcp", `{`, fromDocument, ""},
		{"nothing", "mcp", ``, fromDocument, ""},
		{"OpenAPI", "openapi", `{"method":"GET","path":"/a","operation":{"parameters":[{"name":"q","in":"query","required":true,"schema":{"type":"string"}}],"responses":{"200":{"content":{"application/json":{"schema":{"type":"array"}}}}}}}`,
			`{"additionalProperties":false,` + own[1:], `{"type":"array"}`},
		{"no operation", "openapi", `{}`, fromDocument, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := toolschema.Of(c.format, json.RawMessage(c.raw), doc)
			if string(got.Input) != c.input {
				t.Errorf("input %s\nwant  %s", got.Input, c.input)
			}
			if string(got.Output) != c.output {
				t.Errorf("output %s\nwant   %s", got.Output, c.output)
			}
			check.OK(t, compiles(got.Input))
		})
	}
	if got := toolschema.Of("text", nil, nil).Input; string(got) != `{"properties":{},"type":"object"}` {
		t.Errorf("without a document: %s", got)
	}
	if got := toolschema.Of("rapidapi", nil, &schema.Document{Parameters: []schema.Parameter{{Name: "user.id", Type: "string"}, {Name: "ids[]"}}}).Input; string(got) != `{"properties":{"ids[]":{},"user.id":{"type":"string"}},"type":"object"}` {
		t.Errorf("names with dots: %s", got)
	}
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestHints(t *testing.T) {
	for _, c := range []struct {
		format, raw string
		want        toolschema.Hints
	}{
		{"mcp", `{"name":"a"}`, toolschema.Hints{Destructive: true}},
		{"mcp", `{"annotations":{"readOnlyHint":true,"destructiveHint":true}}`, toolschema.Hints{ReadOnly: true, Idempotent: true}},
		{"mcp", `{"annotations":{"destructiveHint":false}}`, toolschema.Hints{}},
		{"mcp", `{"annotations":{"readOnlyHint":"true","idempotentHint":true}}`, toolschema.Hints{Destructive: true, Idempotent: true}},
		{"mcp", `[`, toolschema.Hints{Destructive: true}},
		{"mcp", `{"annotations":{"readOnlyHint":true},"execution":{"taskSupport":"required"}}`, toolschema.Hints{ReadOnly: true, Idempotent: true, TaskOnly: true}},
		{"mcp", `{"annotations":{"readOnlyHint":true},"execution":{"taskSupport":"optional"}}`, toolschema.Hints{ReadOnly: true, Idempotent: true}},
		{"openapi", `{"method":"GET"}`, toolschema.Hints{ReadOnly: true, Idempotent: true}},
		{"openapi", `{"method":"query"}`, toolschema.Hints{ReadOnly: true, Idempotent: true}},
		{"openapi", `{"method":"DELETE"}`, toolschema.Hints{Destructive: true, Idempotent: true}},
		{"openapi", `{"method":"POST"}`, toolschema.Hints{Destructive: true}},
		{"openapi", `{"method":"PURGE"}`, toolschema.Hints{Destructive: true}},
		{"function", `{"annotations":{"readOnlyHint":true}}`, toolschema.Hints{Destructive: true}},
	} {
		if got := toolschema.HintsOf(c.format, json.RawMessage(c.raw)); got != c.want {
			t.Errorf("%s %s: %+v, want %+v", c.format, c.raw, got, c.want)
		}
	}
}

func TestSignature(t *testing.T) {
	for _, c := range []struct{ input, output, want string }{
		{`{"type":"object","properties":{"title":{"type":"string"},"repo":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}},"state":{"enum":["open","closed"]}},"required":["repo","title"]}`,
			`{"type":"object","properties":{"id":{},"url":{}}}`, `f(repo*: string, title*: string, labels: string[], state: "open"|"closed") -> {id, url}`},
		{`{"type":"object","properties":{}}`, ``, `f()`},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"},"b":{"type":["integer","null"]},"c":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":["string","integer"]}}]},"d":{}},"$defs":{"A":{"type":"object","properties":{"x":{},"y":{}},"required":["y"]}}}`,
			`{"type":"array","items":{"type":"object","properties":{"id":{}}}}`, `f(a: {y, x}, b: integer|null, c: string|(string|integer)[], d: any) -> {id}[]`},
		{`{"type":"object","properties":{"a b\n":{"const":"x"}}}`, `{}`, `f("a b\n": "x")`},
	} {
		if got := toolschema.Signature("f", json.RawMessage(c.input), json.RawMessage(c.output)); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
	props := map[string]any{}
	for i := range 500 {
		props[fmt.Sprintf("a_long_parameter_name_%d", i)] = map[string]any{"type": "string"}
	}
	long := toolschema.Signature("f", jsondoc.Canonical(map[string]any{"type": "object", "properties": props, "required": []any{"a_long_parameter_name_7"}}), nil)
	if len(long) > 301 || !strings.HasPrefix(long, "f(a_long_parameter_name_7*: string, ") || !strings.HasSuffix(long, ", …)") {
		t.Errorf("%d bytes: %s", len(long), long)
	}
}

func TestArgumentsAreReadAsModelsSendThem(t *testing.T) {
	for in, want := range map[string]string{
		``: `{}`, `null`: `{}`, ` {"a":1} `: `{"a":1}`, `"{\"a\":1}"`: `{"a":1}`, `""`: `{}`,
	} {
		if got, err := toolschema.Check(t.Context(), json.RawMessage(`{}`), json.RawMessage(in)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	for _, in := range []string{`[1]`, `"x"`, `7`, `{"a":1,"a":2}`, `{`, `"{"`, `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`} {
		problems := (*toolschema.Problems)(nil)
		if got, err := toolschema.Check(t.Context(), json.RawMessage(`{}`), json.RawMessage(in)); !errors.As(err, &problems) {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
}

func TestCheckSaysHowToMendACall(t *testing.T) {
	input := json.RawMessage(`{"type":"object","additionalProperties":false,"required":["repo","title"],"properties":{
		"repo":{"type":"string","description":"Name of the repository"},"title":{"type":"string","minLength":3,"maxLength":5},
		"labels":{"type":"array","items":{"type":"string"},"maxItems":2,"uniqueItems":true},
		"state":{"type":"string","enum":["open","closed"]},"n":{"type":"integer","minimum":1,"exclusiveMaximum":10,"multipleOf":2},
		"point":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]},
		"when":{"anyOf":[{"type":"object","properties":{"day":{"type":"integer"}},"required":["day"]},{"type":"null"},{"$ref":"#/$defs/list"}]},
		"code":{"type":"string","pattern":"^[a-z]+$"},"on":{"const":true}},
		"$defs":{"list":{"type":"array"}}}`)
	for _, c := range []struct{ arguments, want string }{
		{`{"repo":"r","title":"abc","labels":["a"],"state":"open","n":4,"when":null}`, ``},
		{`"{\"repo\":\"r\",\"title\":\"abc\"}"`, ``},
		{`{}`, "- /repo: is missing; wanted: string (Name of the repository)\n- /title: is missing; wanted: string"},
		{`{"repo":"r","title":"abc","label":["a"]}`, `- /label: is not a property; "labels" is the nearest`},
		{`{"repo":"r","title":"abc","zzzzzzzz":1}`, `- /zzzzzzzz: is not a property; there are "code", "labels", "n", "on", "point", "repo", "state", "title", "when"`},
		{`{"repo":7,"title":"ab","labels":["a","a","b"]}`, "- /labels: elements 0 and 1 are equal; each may be there once\n- /labels: has 3 elements; at most 2 are allowed\n- /repo: is a number (7); wanted: string\n- /title: has 2 characters; at least 3 are wanted"},
		{`{"repo":"r","title":"abc","state":"opne"}`, `- /state: "opne" is not allowed; allowed: "open", "closed"`},
		{`{"repo":"r","title":"abc","n":11}`, "- /n: is 11; it must be a multiple of 2\n- /n: is 11; it must be less than 10"},
		{`{"repo":"r","title":"abc","n":0}`, "- /n: is 0; it must be 1 or more"},
		{`{"repo":"r","title":"abc","point":"{\"x\":1}"}`, `- /point: is a string ("{\"x\":1}"); wanted: object, as JSON and not as a text that holds it`},
		{`{"repo":"r","title":"abc","point":{"x":"1"}}`, `- /point/x: is a string ("1"); wanted: number`},
		{`{"repo":"r","title":"abc","when":{"day":"x"}}`, `- /when/day: is a string ("x"); wanted: integer`},
		{`{"repo":"r","title":"abc","when":7}`, `- /when: is a number (7); wanted: array or null or object`},
		{`{"repo":"r","title":"abc","code":"A","on":false}`, "- /code: \"A\" does not match the pattern \"^[a-z]+$\"\n- /on: false is not allowed; it must be true"},
		{`{"repo":"r","title":"abc","n":1e999999}`, "- /n: is a number with too many digits"},
	} {
		_, err := toolschema.Check(t.Context(), input, json.RawMessage(c.arguments))
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.arguments, err)
			}
			continue
		}
		problems := (*toolschema.Problems)(nil)
		if !errors.As(err, &problems) {
			t.Errorf("%s: %v", c.arguments, err)
			continue
		}
		if _, got, _ := strings.Cut(err.Error(), ":\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.arguments, got, c.want)
		}
	}
}

// TestProblemsAreBounded sends arguments with many mistakes in long texts.
func TestProblemsAreBounded(t *testing.T) {
	input := json.RawMessage(`{"type":"object","properties":{},"additionalProperties":{"type":"integer"}}`)
	wrong := map[string]any{}
	for i := range 1000 {
		wrong[fmt.Sprintf("%d%s", i, strings.Repeat("k", 5000))] = strings.Repeat("secret", 1000)
	}
	problems := (*toolschema.Problems)(nil)
	if _, err := toolschema.Check(t.Context(), input, jsondoc.Canonical(wrong)); !errors.As(err, &problems) || len(problems.List) != 10 || problems.More != 990 || len(err.Error()) > 8<<10 || strings.Contains(err.Error(), strings.Repeat("secret", 10)) {
		t.Errorf("%d bytes", len(err.Error()))
	}
}

func TestCheckRefusesASchemaThatLeadsElsewhere(t *testing.T) {
	for _, input := range []string{`{"$ref":"https://a.example/schema.json"}`, `{"$ref":"file:///etc/hosts"}`, `{"type":7}`, `[`} {
		if _, err := toolschema.Check(t.Context(), json.RawMessage(input), json.RawMessage(`{}`)); err == nil {
			t.Errorf("%s is taken", input)
		}
	}
}
