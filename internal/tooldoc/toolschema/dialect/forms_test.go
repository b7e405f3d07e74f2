package dialect_test

import (
	"testing"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema/dialect"
)

func TestTypeWord(t *testing.T) {
	for word, want := range map[string][2]string{
		"STRING": {"string", ""}, " int64 ": {"integer", ""}, "double": {"number", ""}, "Bool": {"boolean", ""}, "tuple": {"array", ""}, "dict": {"object", ""}, "None": {"null", ""},
		"Date": {"string", "date"}, "timestamp": {"string", "date-time"}, "UUID": {"string", "uuid"}, "url": {"string", "uri"}, "file": {"string", "binary"}, "any": {}, "": {},
	} {
		if name, format := dialect.TypeWord(word); name != want[0] || format != want[1] {
			t.Errorf("%q: %q, %q", word, name, format)
		}
	}
}

func TestIsSchema(t *testing.T) {
	for in, want := range map[string]bool{
		`{}`: true, `{"properties":{}}`: true, `{"properties":{"a":{}}}`: true, `{"properties":[{"name":"a"}]}`: true, `{"anyOf":[{}]}`: true, `{"$ref":"#/x"}`: true, `{"$schema":"x"}`: true,
		`{"type":"object"}`: true, `{"type":["null","string"],"x-a":{"b":1}}`: true, `{"type":"STRING","description":"a","maxLength":3}`: true,
		`{"properties":{"description":"what it has"}}`: false, `{"type":{"type":"string"}}`: false, `{"type":"string","city":{"type":"string"}}`: false, `{"type":"flight"}`: false, `{"anyOf":[]}`: false, `{"city":{}}`: false,
	} {
		m, _ := decoded(t, in).(map[string]any)
		if dialect.IsSchema(m) != want {
			t.Errorf("%s: %v", in, !want)
		}
	}
	if dialect.IsSchema(nil) {
		t.Error("nil is a schema")
	}
}

func TestExamplesAndProperties(t *testing.T) {
	for in, want := range map[string]string{
		`{"example":1,"examples":[2]}`: `[1]`, `{"examples":[2,3]}`: `[2,3]`, `{"examples":{"b":{"value":2},"a":{"value":1},"c":{"summary":"x"}}}`: `[1,2]`, `{"examples":7}`: `null`, `{}`: `null`,
	} {
		m, _ := decoded(t, in).(map[string]any)
		var got any
		if all := dialect.Examples(m); all != nil {
			got = all
		}
		if string(jsondoc.Canonical(got)) != want {
			t.Errorf("%s: %s", in, jsondoc.Canonical(got))
		}
	}
	for in, want := range map[string]string{
		`{"a":{"type":"string"}}`: `{"a":{"type":"string"}}`, `[{"name":"a","type":"string"},{"type":"x"},7]`: `{"a":{"name":"a","type":"string"}}`, `7`: `{}`,
	} {
		if got := string(jsondoc.Canonical(dialect.Properties(decoded(t, in)))); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}
