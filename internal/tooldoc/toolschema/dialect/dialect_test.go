package dialect_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema/dialect"
)

func decoded(t *testing.T, s string) any {
	t.Helper()
	v, err := jsondoc.Decode([]byte(s), jsondoc.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

func TestDialects(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"2020-12 stays", `{"type":"object","properties":{"a":{"type":["string","null"],"minLength":1}},"required":["a"],"additionalProperties":false,"dependentRequired":{"a":["b"]}}`,
			`{"additionalProperties":false,"dependentRequired":{"a":["b"]},"properties":{"a":{"minLength":1,"type":["string","null"]}},"required":["a"],"type":"object"}`},
		{"unknown keywords", `{"type":"string","$schema":"x","$id":"https://a.example/s","$comment":"c","x-order":1,"xml":{},"externalDocs":{},"discriminator":{"propertyName":"k"},"optional":true}`, `{"type":"string"}`},
		{"draft 3", `{"type":"object","properties":{"a":{"type":"any","required":true,"divisibleBy":2},"b":{"type":["string",{"type":"object"}]}},"extends":{"$ref":"#/nowhere"},"dependencies":{"a":"b"}}`,
			`{"allOf":[{}],"dependentRequired":{"a":["b"]},"properties":{"a":{"multipleOf":2},"b":{"allOf":[{"anyOf":[{"type":"object"},{"type":"string"}]}]}},"required":["a"],"type":"object"}`},
		{"draft 4 bounds", `{"type":"number","minimum":1,"exclusiveMinimum":true,"maximum":5,"exclusiveMaximum":false}`, `{"exclusiveMinimum":1,"maximum":5,"type":"number"}`},
		{"draft 4 definitions", `{"definitions":{"a b":{"type":"string"}},"properties":{"x":{"$ref":"#/definitions/a%20b"},"y":{"$ref":"#/definitions/a b"}}}`,
			`{"$defs":{"a_20b":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a_20b"},"y":{"$ref":"#/$defs/a_20b"}},"type":"object"}`},
		{"draft 7 items", `{"items":[{"type":"string"},true],"additionalItems":{"type":"integer"},"contains":{"const":1}}`,
			`{"contains":{"const":1},"items":{"type":"integer"},"prefixItems":[{"type":"string"},true],"type":"array"}`},
		{"draft 7 dependencies", `{"dependencies":{"a":["b","b"],"c":{"required":["d"]}},"if":{"required":["a"]},"then":false}`,
			`{"dependentRequired":{"a":["b"]},"dependentSchemas":{"c":{"required":["d"]}},"if":{"required":["a"]},"then":false}`},
		{"OpenAPI 3.0", `{"type":"string","nullable":true,"enum":["a"],"example":"a"}`, `{"enum":["a",null],"examples":["a"],"type":["string","null"]}`},
		{"OpenAPI 3.0 reference or null", `{"properties":{"x":{"nullable":true,"allOf":[{"type":"string"}],"description":"d"}}}`,
			`{"properties":{"x":{"anyOf":[{"allOf":[{"type":"string"}]},{"type":"null"}],"description":"d"}},"type":"object"}`},
		{"only read", `{"type":"object","properties":{"id":{"readOnly":true,"type":"string"},"ref":{"$ref":"#/definitions/r"},"a":{}},"required":["id","ref","a"],"definitions":{"r":{"readOnly":true}}}`,
			`{"properties":{"a":{}},"required":["a"],"type":"object"}`},
		{"only read in a part", `{"required":["id","a"],"allOf":[{"properties":{"id":{"readOnly":true},"a":{}}}]}`, `{"allOf":[{"properties":{"a":{}},"type":"object"}],"required":["a"]}`},
		{"words for types", `{"properties":{"a":{"type":"Float"},"b":{"type":"file"},"c":{"type":"DateTime"},"d":{"type":"Widget"},"e":{"type":["int","str","int"]},"f":"string","g":"what it is","h":null,"i":{"type":"date"}}}`,
			`{"properties":{"a":{"type":"number"},"b":{"contentEncoding":"base64","format":"binary","type":"string"},"c":{"format":"date-time","type":"string"},"d":{},"e":{"type":["integer","string"]},"f":{"type":"string"},"g":{"description":"what it is"},"h":{},"i":{"format":"date","type":"string"}},"type":"object"}`},
		{"properties as a list", `{"properties":[{"name":"a","type":"string","required":true},{"type":"string"}]}`, `{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`},
		{"enums and types", `{"anyOf":[{"type":"string","enum":[1,true,"x"]},{"type":"array","enum":["a"],"items":{"type":"string"}},{"type":"integer","enum":["a"]},{"type":"string","enum":["a",null]},{"enum":[]},{"enum":"a"}]}`,
			`{"anyOf":[{"enum":["1","true","x"],"type":"string"},{"items":{"enum":["a"],"type":"string"},"type":"array"},{"enum":["a"]},{"enum":["a"],"type":"string"},{},{}]}`},
		{"alternatives", `{"oneOf":[{"not":{}},{"type":"string"},{"type":"integer"}],"anyOf":[{"minLength":1}]}`, `{"allOf":[{"anyOf":[{"type":"string"},{"type":"integer"}]}],"anyOf":[{"minLength":1}]}`},
		{"titles that repeat the name", `{"properties":{"repo_name":{"title":"Repo Name"},"a":{"title":"Answer"}}}`, `{"properties":{"a":{"title":"Answer"},"repo_name":{}},"type":"object"}`},
		{"values of the wrong kind", `{"title":7,"minLength":-1,"maxLength":"5","minItems":1.5,"maxItems":1e30,"minimum":"x","maximum":1e999999,"multipleOf":0,"required":"a","pattern":"(?!x)","uniqueItems":"yes","allOf":[],"anyOf":{},"not":7,"default":1e999999,"const":{"a":1e999999},"properties":7,"examples":3,"patternProperties":{"(":{},"^x":true}}`,
			`{"maxLength":5,"patternProperties":{"^x":true},"properties":{}}`},
		{"JavaScript's pattern", `{"type":"string","pattern":"/^[a-z]+$/i"}`, `{"pattern":"(?i)^[a-z]+$","type":"string"}`},
		{"references that lead out or nowhere", `{"properties":{"a":{"$ref":"https://a.example/x.json"},"b":{"$ref":"#/nope","description":"d"},"c":{"$ref":"other.json#/x"},"d":{"$ref":7},"e":{"$ref":"file:///etc/passwd"}}}`,
			`{"properties":{"a":{},"b":{"description":"d"},"c":{},"d":{},"e":{}},"type":"object"}`},
		{"anchors and identifiers", `{"properties":{"a":{"$ref":"#here"},"b":{"$ref":"item.json"},"c":{"$ref":"https://a.example/item.json#/definitions/x"},"d":{"$dynamicRef":"#here"}},"$defs":{"h":{"$anchor":"here","type":"string"},"i":{"$id":"https://a.example/item.json","definitions":{"x":{"type":"integer"}},"items":{"$ref":"#/definitions/x"}}}}`,
			`{"$defs":{"here":{"type":"string"},"item.json":{"items":{"$ref":"#/$defs/x"},"type":"array"},"x":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/here"},"b":{"$ref":"#/$defs/item.json"},"c":{"$ref":"#/$defs/x"},"d":{"$ref":"#/$defs/here"}},"type":"object"}`},
		{"recursion", `{"properties":{"next":{"$ref":"#"}}}`, `{"$defs":{"schema":{"properties":{"next":{"$ref":"#/$defs/schema"}},"type":"object"}},"properties":{"next":{"$ref":"#/$defs/schema"}},"type":"object"}`},
		{"circles", `{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/b","title":"A"},"b":{"allOf":[{"$ref":"#/definitions/a"}]}}}`,
			`{"$defs":{"a":{"$ref":"#/$defs/b","title":"A"},"b":{"allOf":[{}]}},"$ref":"#/$defs/a"}`},
		{"names that are equal", `{"properties":{"a":{"$ref":"#/definitions/x"},"b":{"$ref":"#/x"}},"definitions":{"x":{"type":"string"}},"x":{"type":"integer"}}`,
			`{"$defs":{"x":{"type":"string"},"x_2":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/$defs/x_2"}},"type":"object"}`},
		{"properties named as keywords", `{"properties":{"$ref":{"type":"string"},"required":{"type":"boolean"},"nullable":{"type":"string"}}}`,
			`{"properties":{"$ref":{"type":"string"},"nullable":{"type":"string"},"required":{"type":"boolean"}},"type":"object"}`},
		{"OpenAPI's examples", `{"examples":{"a":{"value":1},"b":{"summary":"x"}}}`, `{"examples":[1]}`},
		{"true", `true`, `{}`}, {"false", `false`, `{"not":{}}`}, {"null", `null`, `{}`}, {"a list", `[1]`, `{}`}, {"a word", `"integer"`, `{"type":"integer"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := decoded(t, c.in)
			before := string(jsondoc.Canonical(in))
			if got := string(jsondoc.Canonical(dialect.Write(in, dialect.Input, in))); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if string(jsondoc.Canonical(in)) != before {
				t.Error("the document was changed")
			}
		})
	}
}

func TestOutputsHaveWhatIsRead(t *testing.T) {
	in := decoded(t, `{"properties":{"id":{"readOnly":true},"secret":{"writeOnly":true},"file":{"type":"string","format":"binary"}},"required":["id","secret"]}`)
	if got := string(jsondoc.Canonical(dialect.Write(in, dialect.Output, in))); got != `{"properties":{"file":{"format":"binary","type":"string"},"id":{}},"required":["id"],"type":"object"}` {
		t.Error(got)
	}
}

func TestObjects(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", `{}`, `{"properties":{},"type":"object"}`},
		{"true", `true`, `{"properties":{},"type":"object"}`},
		{"null", `null`, `{"properties":{},"type":"object"}`},
		{"a type among others", `{"type":["null","object"],"nullable":true}`, `{"properties":{},"type":"object"}`},
		{"a reference", `{"$ref":"#/definitions/a","definitions":{"a":{"properties":{"x":{"$ref":"#/definitions/b"}}},"b":{}}}`, `{"$defs":{"b":{}},"properties":{"x":{"$ref":"#/$defs/b"}},"type":"object"}`},
		{"a reference to itself", `{"$ref":"#"}`, `{"properties":{},"type":"object"}`},
		{"parts", `{"allOf":[{"$ref":"#/definitions/a"},{"properties":{"y":{}},"required":["y"]},{"minProperties":1},{"properties":{"x":{}}}],"required":["x"],"definitions":{"a":{"type":"object","properties":{"x":{"type":"string"}}}}}`,
			`{"allOf":[{"minProperties":1},{"properties":{"x":{}},"type":"object"}],"properties":{"x":{"type":"string"},"y":{}},"required":["x","y"],"type":"object"}`},
		{"alternatives", `{"anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}}}`, `{"anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}},"type":"object"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := decoded(t, c.in)
			out, ok := dialect.Object(in, dialect.Input, in)
			if got := string(jsondoc.Canonical(out)); !ok || got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
	for _, in := range []string{`false`, `{"type":"string"}`, `{"type":["null","array"]}`, `"object"`, `7`} {
		if out, ok := dialect.Object(decoded(t, in), dialect.Input); ok {
			t.Errorf("%s is taken as %s", in, jsondoc.Canonical(out))
		}
	}
}

// TestPatternsThatTakeLongToReadAreDropped writes schemas with many patterns of a few bytes, each of
// which takes milliseconds to read.
func TestPatternsThatTakeLongToReadAreDropped(t *testing.T) {
	for _, pattern := range []string{`(?i)[\x{1}-\x{1E000}]`, strings.Repeat(`\pL`, 600), strings.Repeat(`a?`, 5_000)} {
		parts := make([]any, 1000)
		for i := range parts {
			parts[i] = map[string]any{"pattern": pattern}
		}
		out := dialect.Write(map[string]any{"allOf": parts}, dialect.Input)
		kept := 0
		for _, part := range out["allOf"].([]any) {
			if part.(map[string]any)["pattern"] == pattern {
				kept++
			}
		}
		if kept == 0 || kept > 50 {
			t.Errorf("%.30s: %d of 1000 are kept", pattern, kept)
		}
	}
	many := map[string]any{}
	for i := range 500 {
		many[strconv.Itoa(i)] = map[string]any{"pattern": `^(?i)[a-z0-9_-]{1,64}$`}
	}
	props := dialect.Write(map[string]any{"properties": many}, dialect.Input)["properties"].(map[string]any)
	for name, p := range props {
		if p.(map[string]any)["pattern"] == nil {
			t.Errorf("the plain pattern of %s is dropped", name)
		}
	}
}
