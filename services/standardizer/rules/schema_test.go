package rules

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestJSONSchema(t *testing.T) {
	for _, test := range []struct {
		name, schema string
		want         []schema.Parameter
	}{
		{"references", `{"$defs": {"Place": {"type": "object", "description": "A place", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
			"type": "object", "required": ["from"], "properties": {
				"from": {"$ref": "#/$defs/Place"}, "to": {"$ref": "#/$defs/Place", "description": "Where to go"}, "via": {"$ref": "#/$defs/Nowhere"}}}`,
			[]schema.Parameter{
				{Name: "from", Type: "object", Required: true, Description: "A place"},
				{Name: "from.city", Type: "string", Required: true},
				{Name: "to", Type: "object", Description: "Where to go"},
				{Name: "to.city", Type: "string"},
				{Name: "via", Type: "Nowhere"},
			}},
		{"references through arrays and with escapes", `{"definitions": {"Pick<Foo>": {"type": "object", "properties": {"city": {"type": "string"}}}, "a/b ~c": {"type": "boolean"}},
			"properties": {
				"a": {"anyOf": [{"type": "object", "properties": {"x": {"type": "integer"}}}, {"type": "null"}]},
				"b": {"$ref": "#/properties/a/anyOf/0"}, "c": {"$ref": "#/definitions/Pick%3CFoo%3E"}, "d": {"$ref": "#/definitions/a~1b%20~0c"},
				"e": {"$ref": "#/definitions/Omit%3CFoo%3E"}, "f": {"$ref": "#/properties/a/anyOf/2"}}}`,
			[]schema.Parameter{
				{Name: "a.x", Type: "integer"}, {Name: "b.x", Type: "integer"}, {Name: "c.city", Type: "string"}, {Name: "d", Type: "boolean"},
				{Name: "e", Type: "Omit<Foo>"}, {Name: "f"},
			}},
		{"recursion ends", `{"definitions": {"Node": {"type": "object", "properties": {"label": {"type": "string"}, "next": {"$ref": "#/definitions/Node"}, "all": {"type": "array", "items": {"$ref": "#/definitions/Node"}}}}},
			"type": "object", "properties": {"root": {"$ref": "#/definitions/Node"}}}`,
			[]schema.Parameter{
				{Name: "root.all", Type: "array of Node"},
				{Name: "root.label", Type: "string"},
				{Name: "root.next", Type: "Node"},
			}},
		{"a reference to itself", `{"properties": {"a": {"$ref": "#/properties/a"}, "b": {"$ref": "#"}}}`,
			[]schema.Parameter{{Name: "a", Type: "a"}, {Name: "b.a", Type: "a"}, {Name: "b.b"}}},
		{"alternatives", `{"properties": {
				"id": {"anyOf": [{"type": "integer"}, {"type": "string", "format": "uuid"}, {"type": "null"}], "description": "Number or name"},
				"mode": {"oneOf": [{"const": "fast"}, {"const": "safe"}]}, "limit": {"type": ["integer", "null"]}, "on": {"type": "boolean", "nullable": true}}}`,
			[]schema.Parameter{
				{Name: "id", Type: "integer or string (uuid)", Description: "Number or name"},
				{Name: "limit", Type: "integer"},
				{Name: "mode", Type: "string", Enum: []string{"fast", "safe"}},
				{Name: "on", Type: "boolean"},
			}},
		{"required in all alternatives only", `{"oneOf": [
				{"properties": {"id": {"type": "integer"}, "by": {"type": "string"}}, "required": ["id", "by"]},
				{"properties": {"name": {"type": "string"}, "by": {"type": "string"}}, "required": ["name", "by"]}]}`,
			[]schema.Parameter{
				{Name: "by", Type: "string", Required: true},
				{Name: "id", Type: "integer"},
				{Name: "name", Type: "string"},
			}},
		{"what alternatives say holds for them", `{"properties": {
				"model": {"anyOf": [{"type": "string"}, {"type": "string", "enum": ["small", "large"]}]},
				"place": {"oneOf": [{"type": "string", "description": "A name."}, {"type": "object", "title": "Point", "description": "Where it is.", "default": {"x": 0}}, {"type": "integer", "description": "A name."}]},
				"size": {"description": "How big", "anyOf": [{"const": "auto", "description": "As it fits"}, {"type": "integer", "minimum": 1}]},
				"when": {"anyOf": [{"type": "string", "description": "The day.", "default": "today"}, {"type": "null"}]}}}`,
			[]schema.Parameter{
				{Name: "model", Type: "string"},
				{Name: "place", Type: "string or object or integer", Description: "A name; Where it is"},
				{Name: "size", Type: "string or integer", Description: "How big"},
				{Name: "when", Type: "string", Description: "The day.", Default: `"today"`},
			}},
		{"conditions", `{"type": "object", "required": ["kind"], "properties": {"kind": {"enum": ["fly", "sail"], "description": "How to go", "default": "sail"}},
				"allOf": [{"if": {"properties": {"kind": {"const": "fly"}}},
					"then": {"properties": {"gate": {"type": "string"}, "kind": {"const": "fly"}, "name": {"type": "string"}}, "required": ["gate", "name"]},
					"else": {"properties": {"pier": {"type": "integer"}, "name": {"type": "string"}}, "required": ["pier", "name"]}}],
				"dependentSchemas": {"name": {"properties": {"title": {"type": "string"}}, "required": ["title"]}}, "dependencies": {"kind": ["name"]}}`,
			[]schema.Parameter{
				{Name: "kind", Type: "string", Required: true, Description: "How to go", Default: `"sail"`, Enum: []string{"fly", "sail"}},
				{Name: "name", Type: "string", Required: true},
				{Name: "gate", Type: "string"},
				{Name: "pier", Type: "integer"},
				{Name: "title", Type: "string"},
			}},
		{"composition", `{"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"a": {"description": "First"}, "b": {"type": "number"}}, "required": ["b"]}]}`,
			[]schema.Parameter{
				{Name: "a", Type: "string", Required: true, Description: "First"},
				{Name: "b", Type: "number", Required: true},
			}},
		{"depth", `{"properties": {"a": {"properties": {"b": {"properties": {"c": {"properties": {"d": {"properties": {"e": {"type": "string"}}}}}}}}}}}`,
			[]schema.Parameter{{Name: "a.b.c.d", Type: "object"}}},
		{"boolean schemas and wrong types", `{"type": 7, "required": {"a": true}, "properties": {"a": true, "b": false, "c": "string", "d": [1], "e": {"type": {"x": 1}, "description": 4, "enum": "no", "default": null, "items": 3}}}`,
			[]schema.Parameter{{Name: "a"}, {Name: "c"}, {Name: "d"}, {Name: "e", Description: "4"}}},
		{"required on the property itself", `{"type": "object", "properties": {"b": {"type": "string", "required": true}, "a": {"type": "string"}}}`,
			[]schema.Parameter{{Name: "b", Type: "string", Required: true}, {Name: "a", Type: "string"}}},
		{"parameters called type and properties", `{"type": {"type": "string", "description": "Kind"}, "properties": {"type": "object", "description": "More"}}`,
			[]schema.Parameter{{Name: "properties", Type: "object", Required: true, Description: "More"}, {Name: "type", Type: "string", Required: true, Description: "Kind"}}},
		{"one value", `{"type": "string", "description": "What to say"}`,
			[]schema.Parameter{{Name: "input", Type: "string", Required: true, Description: "What to say"}}},
		{"nothing but keywords", `{"type": "object", "unevaluatedProperties": false, "maxProperties": 0, "minProperties": 0, "exclusiveMinimum": 1, "x-order": 1, "$anchor": "a"}`, nil},
		{"no values", `{"type": "object", "properties": {}, "additionalProperties": false}`, nil},
		{"keywords without a type", `{"unevaluatedProperties": false, "additionalProperties": {"type": "string"}, "maxProperties": 0, "$defs": {"A": {"type": "string"}}, "required": []}`, nil},
		{"keywords beside parameters", `{"city": {"type": "string"}, "additionalProperties": false, "required": ["city"]}`,
			[]schema.Parameter{{Name: "city", Type: "string", Required: true}}},
		{"as JSON text", `"{\"properties\": {\"q\": {\"type\": \"string\"}}}"`, []schema.Parameter{{Name: "q", Type: "string"}}},
		{"examples and values", `{"properties": {"a": {"type": "integer", "examples": [3, 4]}, "b": {"type": "object", "default": {"y": 1, "x": "<"}}, "c": {"enum": [1, 2.5, true, null]}}}`,
			[]schema.Parameter{{Name: "a", Type: "integer", Example: "3"}, {Name: "b", Type: "object", Default: `{"x":"<","y":1}`}, {Name: "c", Type: "integer", Enum: []string{"1", "2.5", "true"}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := check.Value(decode([]byte(test.schema)))(t)
			got, flags := parameters(v, "input")
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", indented(got), indented(test.want))
			}
			if len(flags) != 0 {
				t.Errorf("flags %q", flags)
			}
		})
	}
}

func TestRequiredUnlessToldOtherwise(t *testing.T) {
	for raw, want := range map[string]bool{
		`[{"name": "a"}]`:                                               true,
		`[{"name": "a", "required": false}]`:                            false,
		`[{"name": "a", "required": "yes"}]`:                            true,
		`[{"name": "a", "required": "optional"}]`:                       false,
		`[{"name": "a", "optional": true}]`:                             false,
		`[{"name": "a", "default": 1}]`:                                 false,
		`[{"name": "a", "description": "(optional) the a"}]`:            false,
		`[{"name": "a", "description": "Optional. The a"}]`:             false,
		`[{"name": "a", "description": "Optionally fetched by a bot"}]`: true,
		`[{"name": "a", "type": "string, optional"}]`:                   false,
		`[{"name": "a"}, {"name": "b", "required": true}]`:              false,
		`{"a": {"type": "string"}, "required": ["a"]}`:                  true,
		`{"a": {"type": "string"}, "b": {}, "required": ["b"]}`:         false,
		`{"a": "the a, defaults to 3"}`:                                 false,
	} {
		v := check.Value(decode([]byte(raw)))(t)
		got, _ := parameters(v, "input")
		if len(got) == 0 || got[0].Name != "a" || got[0].Required != want {
			t.Errorf("%s gives %s, want required %v", raw, indented(got), want)
		}
	}
}

// A schema may have a type that only documents of tools know, and still describes one value.
func TestASchemaOfAnotherTypeIsOneValue(t *testing.T) {
	for typ, want := range map[string]string{"json": "object", "JSON": "object", "complex": "number", "literal": "string", "dict": "object"} {
		v := map[string]any{"type": typ, "description": "What it is"}
		if got, _ := parameters(v, "input"); len(got) != 1 || got[0].Name != "input" || got[0].Type != want {
			t.Errorf("the type %s gives %s, want one %s", typ, indented(got), want)
		}
		if got := response(v); !strings.HasSuffix(got, "What it is") {
			t.Errorf("a response of the type %s: %q", typ, got)
		}
	}
}

func TestTypeName(t *testing.T) {
	for in, want := range map[string]string{
		"str": "string", "STRING": "string", "Optional[List[str]]": "array of string", "typing.Union[int, None, str]": "integer or string",
		"int | None": "integer", "string[]": "array of string", "Array<number>": "array of number", "dict[str, list[int]]": "object",
		"tuple[int, ...]": "array of integer", "List": "array", "List[Any]": "array", "Literal['a', 'b']": "string", "datetime": "datetime",
		"Annotated[float, Field(gt=0)]": "number", "DATE (YYYY-MM-DD)": "DATE (YYYY-MM-DD)", "": "", "'Node'": "Node", "None": "null",
		"list[list[list[list[list[str]]]]]": "array of array of array of array of list[str]",
	} {
		if got := TypeName(in); got != want {
			t.Errorf("TypeName(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestKeepPrefersWhatIsRequiredAndShallow(t *testing.T) {
	in := []schema.Parameter{{Name: "a.b"}, {Name: "c"}, {Name: "d.e", Required: true}, {Name: "f", Required: true}}
	for n, want := range map[int]string{1: "[f]", 2: "[d.e f]", 3: "[c d.e f]", 4: "[a.b c d.e f]"} {
		kept, dropped := limitParameters(slices.Clone(in), n)
		var names []string
		for _, p := range kept {
			names = append(names, p.Name)
		}
		if fmt.Sprint(names) != want || dropped != (n < 4) {
			t.Errorf("keep %d: %v, dropped %v, want %s", n, names, dropped, want)
		}
	}
}
