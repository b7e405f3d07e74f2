package prompts

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// texts are those that JSON documents are taken with.
var texts = rapid.StringOf(rapid.RuneFrom(nil, unicode.Letter, unicode.Digit, unicode.Punct, unicode.Space))

const whole = `{"description": "d", "parameters": {"a": {"description": "b", "example": "c"}}, "response": "r", "examples": ["e"]}`

var all = Shape{Description: true, Response: true, Examples: true, Parameters: []string{"a", "b"}}

func TestDecodeTakesWhatFits(t *testing.T) {
	a, problems, err := all.Decode([]byte(whole))
	if want := (&Answer{"d", []Parameter{{Name: "a", Description: "b", Example: "c"}}, "r", []string{"e"}}); err != nil || len(problems) > 0 || !reflect.DeepEqual(a, want) {
		t.Errorf("%+v, %v, %v", a, problems, err)
	}
	for raw, want := range map[string]string{
		`{"tools": [], "response": "r"}`:                                                   "tools",
		`{"description": ["d"], "response": "r"}`:                                          "description",
		`{"description": null, "response": "r"}`:                                           "description",
		`{"parameters": [], "response": "r"}`:                                              "parameters",
		`{"parameters": {"a": "b"}, "response": "r"}`:                                      "parameters/a",
		`{"parameters": {"a": {"description": 1, "example": 2}}, "response": "r"}`:         "parameters/a",
		`{"examples": "e", "response": "r"}`:                                               "examples",
		`{"response": "r"}`:                                                                "",
		`{"parameters": {"a": {"description": "", "example": {"b": 1}}}, "response": "r"}`: "",
	} {
		a, problems, err := all.Decode([]byte(raw))
		if err != nil || a.Response != "r" || len(problems) > 1 || (want == "") != (len(problems) == 0) || want != "" && problems[0].Where != want {
			t.Errorf("%s: %+v, %v, %v", raw, a, problems, err)
		}
	}
	found := Shape{Find: true}
	if _, problems, err := found.Decode([]byte(`{"parameters": [{"description": "d"}]}`)); err != nil || len(problems) != 1 || problems[0].Where != "parameters/0" {
		t.Errorf("a parameter without a name: %v, %v", problems, err)
	}
	for _, raw := range []string{``, `null`, `[]`, `"d"`, whole[:40], whole + `{}`, `{"response": "r", "response": "s"}`} {
		if a, _, err := all.Decode([]byte(raw)); err == nil {
			t.Errorf("takes %s as %+v", raw, a)
		}
	}
}

// TestAnswersFitTheirSchema holds that what JSON writes fits Schema and comes
// back from Decode.
func TestAnswersFitTheirSchema(t *testing.T) {
	for _, shape := range []Shape{
		all, {Description: true, Examples: true}, {Response: true, Parameters: []string{"b", "a \" 1"}, Types: true},
		{Examples: true, Find: true, Types: true},
	} {
		compiled := compile(t, shape.Schema())
		rapid.Check(t, func(t *rapid.T) {
			a := draw(t, shape)
			raw, err := shape.JSON(a)
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
			back, problems, err := shape.Decode(raw)
			if err != nil || len(problems) > 0 || !reflect.DeepEqual(back, a) {
				t.Fatalf("%+v came back as %+v: %v, %v", a, back, problems, err)
			}
		})
	}
}

// TestNoOtherParameterFitsTheSchema holds that a grammar made of the schema
// writes the known names alone, and one example at least.
func TestNoOtherParameterFitsTheSchema(t *testing.T) {
	compiled := compile(t, Shape{Parameters: []string{"a"}, Examples: true}.Schema())
	for raw, fits := range map[string]bool{
		`{"parameters": {"a": {"description": "", "example": ""}}, "examples": ["e"]}`:                                          true,
		`{"parameters": {"a": {"description": "", "example": ""}, "c": {"description": "", "example": ""}}, "examples": ["e"]}`: false,
		`{"parameters": {"a": {"description": "", "example": ""}}, "examples": []}`:                                             false,
		`{"parameters": {"a": {"description": "", "example": ""}}, "examples": ["1", "2", "3", "4", "5", "6"]}`:                 false,
	} {
		var v any
		check.OK(t, json.Unmarshal([]byte(raw), &v))
		if err := compiled.Validate(v); (err == nil) != fits {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestOnlyWhatWasRefusedAndIsMissingIsAskedAgain(t *testing.T) {
	taken := &Answer{Description: "d", Parameters: []Parameter{{Name: "a"}, {Name: "b", Description: "b"}}}
	for where, want := range map[string]Shape{
		"response":                 {Response: true},
		"examples/1":               {Examples: true},
		"description":              {},
		"parameters/a/description": {Parameters: []string{"a"}},
		"parameters/b/example":     {},
		"parameters/c":             {},
	} {
		if got := all.Again([]string{where}, taken); string(got.Schema()) != string(want.Schema()) {
			t.Errorf("%s: %+v", where, got)
		}
	}
}

func compile(t *testing.T, raw json.RawMessage) *jsonschema.Schema {
	t.Helper()
	var v any
	check.OK(t, json.Unmarshal(raw, &v))
	c := jsonschema.NewCompiler()
	check.OK(t, c.AddResource("answer.json", v))
	return check.Value(c.Compile("answer.json"))(t)
}

// draw returns an answer in a shape.
func draw(t *rapid.T, s Shape) *Answer {
	a := &Answer{}
	if s.Description {
		a.Description = texts.Draw(t, "d")
	}
	if s.Response {
		a.Response = texts.Draw(t, "r")
	}
	if s.Examples {
		a.Examples = rapid.SliceOfN(texts, 1, MaxExamples).Draw(t, "e")
	}
	names := s.Parameters
	if s.Find {
		names = rapid.SliceOfNDistinct(rapid.StringMatching(`[\p{L}_ "]{1,9}`), 0, 3, rapid.ID).Draw(t, "names")
	}
	for _, name := range names {
		p := Parameter{Name: name, Description: texts.Draw(t, "pd"), Example: texts.Draw(t, "pe")}
		if s.Types {
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
		a := draw(t, Shape{Description: true, Response: true, Examples: true, Parameters: []string{"a", "b", "c"}, Types: true})
		got := Merge(facts, rules.Stated{Names: true, Types: true, Required: true}, a).Document
		if got.Name != "n" || !reflect.DeepEqual(got.Tags, facts.Tags) || len(got.Parameters) != 2 {
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

func TestMergeReplacesNothingThatTheSourceSays(t *testing.T) {
	byRules := schema.Document{
		Description: "Boils an egg. For guests.", Response: "The egg.", Examples: []string{"Boil one."},
		Parameters: []schema.Parameter{{Name: "a", Description: "How long."}},
	}
	m := Merge(byRules, rules.Stated{Names: true, Types: true, Required: true}, &Answer{
		Description: "Boils eggs or an egg in water.", Response: "A duck.", Examples: []string{"Boil one.", "An egg, please."},
		Parameters: []Parameter{{Name: "a", Description: "How wide."}},
	})
	want := schema.Document{
		Description: "Boils eggs or an egg in water. For guests.", Response: "The egg.", Examples: []string{"Boil one.", "An egg, please."},
		Parameters: []schema.Parameter{{Name: "a", Description: "How long."}}, Quality: schema.QualityGood,
	}
	if !reflect.DeepEqual(m.Document, want) || !reflect.DeepEqual(m.Fields, []string{"description", "examples"}) {
		t.Errorf("%+v by %v", m.Document, m.Fields)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"parameters": [{"name": "a", "required": 1}], "examples": [null]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, s := range []Shape{all, {Find: true, Types: true}} {
			a, _, err := s.Decode(raw)
			if (a == nil) == (err == nil) {
				t.Fatalf("%v, %v", a, err)
			}
		}
	})
}
