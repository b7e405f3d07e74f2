package answer

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// texts are those that JSON documents are taken with.
var texts = rapid.StringOf(rapid.RuneFrom(nil, unicode.Letter, unicode.Digit, unicode.Punct, unicode.Space))

const whole = `{"description": "d", "parameters": [{"name": "a", "description": "b", "example": "c"}], "response": "r", "examples": ["e"]}`

func TestDecodeTakesTheShapeAlone(t *testing.T) {
	if a, err := Decode(json.RawMessage(whole), false); err != nil || a.Description != "d" || len(a.Parameters) != 1 || a.Examples[0] != "e" {
		t.Errorf("%+v, %v", a, err)
	}
	for name, raw := range map[string]string{
		"nothing":          ``,
		"null":             `null`,
		"a list":           `[]`,
		"an absent member": `{"description": "d", "parameters": [], "response": "r"}`,
		"an extra member":  `{"description": "d", "parameters": [], "response": "r", "examples": [], "tools": []}`,
		"a null":           `{"description": null, "parameters": [], "response": "r", "examples": []}`,
		"a null example":   `{"description": "d", "parameters": [], "response": "r", "examples": [null]}`,
		"another type":     `{"description": ["d"], "parameters": [], "response": "r", "examples": []}`,
		"a bare parameter": `{"description": "d", "parameters": [{"name": "a"}], "response": "r", "examples": []}`,
		"a repeated key":   `{"description": "d", "description": "e", "parameters": [], "response": "r", "examples": []}`,
		"something after":  whole + `{}`,
		"half of it":       whole[:40],
		"a typed one":      `{"description": "d", "parameters": [{"name": "a", "type": "string", "required": true, "description": "b", "example": "c"}], "response": "r", "examples": []}`,
	} {
		if _, err := Decode(json.RawMessage(raw), false); err == nil {
			t.Errorf("takes %s", name)
		}
	}
}

// TestAnswersFitTheirSchema holds that what JSON writes fits Schema and comes
// back from Decode.
func TestAnswersFitTheirSchema(t *testing.T) {
	for _, typed := range []bool{false, true} {
		compiled := compile(t, Schema(typed))
		rapid.Check(t, func(t *rapid.T) {
			a := draw(t, typed)
			raw, err := a.JSON(typed)
			if err != nil {
				t.Fatal(err)
			}
			var v any
			if err := json.Unmarshal(raw, &v); err != nil {
				t.Fatal(err)
			}
			if err := compiled.Validate(v); err != nil {
				t.Fatal(err)
			}
			back, err := Decode(raw, typed)
			if err != nil || !reflect.DeepEqual(back, a) {
				t.Fatalf("%+v came back as %+v: %v", a, back, err)
			}
		})
	}
}

func compile(t *testing.T, raw json.RawMessage) *jsonschema.Schema {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("answer.json", v); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("answer.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func draw(t *rapid.T, typed bool) *Answer {
	a := &Answer{Description: texts.Draw(t, "d"), Response: texts.Draw(t, "r")}
	if list := rapid.SliceOfN(texts, 0, 3).Draw(t, "e"); len(list) > 0 {
		a.Examples = list
	}
	for range rapid.IntRange(0, 3).Draw(t, "n") {
		p := Parameter{Name: texts.Draw(t, "p"), Description: texts.Draw(t, "pd"), Example: texts.Draw(t, "pe")}
		if typed {
			required := rapid.Bool().Draw(t, "req")
			p.Type, p.Required = texts.Draw(t, "type"), &required
		}
		a.Parameters = append(a.Parameters, p)
	}
	return a
}

// TestMergeChangesNoStatedFact holds it for any answer about a source that
// states everything.
func TestMergeChangesNoStatedFact(t *testing.T) {
	facts := schema.Document{Name: "n", Tags: []string{"t"}, Parameters: []schema.Parameter{
		{Name: "a", Type: "string", Required: true, Default: `"x"`, Enum: []string{`"x"`}}, {Name: "b", Type: "integer"},
	}}
	rapid.Check(t, func(t *rapid.T) {
		a := draw(t, true)
		a.Parameters = []Parameter{{Name: "a"}, {Name: "b"}}
		for i := range a.Parameters {
			drawn := draw(t, true)
			if len(drawn.Parameters) > 0 {
				name := a.Parameters[i].Name
				a.Parameters[i] = drawn.Parameters[0]
				a.Parameters[i].Name = name
			}
		}
		got := Merge(facts, rules.Stated{Names: true, Types: true, Required: true}, a).Document
		if got.Name != "n" || !reflect.DeepEqual(got.Tags, facts.Tags) {
			t.Fatalf("%+v", got)
		}
		for i, p := range got.Parameters {
			p.Description, p.Example = "", ""
			if !reflect.DeepEqual(p, facts.Parameters[i]) {
				t.Fatalf("%+v", p)
			}
		}
	})
}

func TestMergeSaysWhoWroteWhat(t *testing.T) {
	yes, no := true, false
	byRules := schema.Document{Name: "n", Response: "What the rules found.", Quality: schema.QualityLow, Parameters: []schema.Parameter{
		{Name: "when", Type: "datetime", Required: true}, {Name: "who", Type: "str", Required: false, Description: "Whom."},
	}}
	m := Merge(byRules, rules.Stated{Names: true}, &Answer{
		Description: "Meets somebody.",
		Parameters: []Parameter{
			{Name: "when", Type: "string", Required: &no, Example: "2024-05-01"},
			{Name: "who", Type: "str", Required: &yes, Example: `"Eve"`},
		},
	})
	want := []string{"description", "parameters/when/type", "parameters/when/required", "parameters/when/example", "parameters/who/example"}
	if !reflect.DeepEqual(m.Fields, want) || !reflect.DeepEqual(m.Missing, []string{"parameters/when/description", "examples"}) {
		t.Errorf("fields %v, missing %v", m.Fields, m.Missing)
	}
	p := m.Document.Parameters
	if p[0].Type != "string" || p[0].Required || p[0].Example != `"2024-05-01"` || p[1].Required || p[1].Description != "Whom." || p[1].Example != `"Eve"` {
		t.Errorf("%+v", p)
	}
	if m.Document.Response != byRules.Response || m.Document.Quality != schema.QualityGood {
		t.Errorf("%+v", m.Document)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(whole), false)
	f.Add([]byte(`{"parameters": [{"required": 1}]}`), true)
	f.Fuzz(func(t *testing.T, raw []byte, typed bool) {
		a, err := Decode(raw, typed)
		if (a == nil) == (err == nil) {
			t.Fatalf("%v, %v", a, err)
		}
	})
}
