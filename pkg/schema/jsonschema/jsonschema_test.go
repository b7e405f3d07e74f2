package jsonschema

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

func compile(t *testing.T, name string) *validator.Schema {
	t.Helper()
	raw := check.Value(Read(name))(t)
	doc := check.Value(validator.UnmarshalJSON(bytes.NewReader(raw)))(t)
	c := validator.NewCompiler()
	c.AssertFormat()
	check.OK(t, c.AddResource(name+".json", doc))
	return check.Value(c.Compile(name + ".json"))(t)
}

func validate(t *testing.T, s *validator.Schema, raw string) error {
	t.Helper()
	doc := check.Value(validator.UnmarshalJSON(strings.NewReader(raw)))(t)
	return s.Validate(doc)
}

func TestEncodedValuesFitTheirSchema(t *testing.T) {
	doc := schema.Document{
		Name: "n", Parameters: []schema.Parameter{{Name: "p", Type: "string", Required: true, Enum: []string{"a"}}},
		Examples: []string{"e"}, Quality: schema.QualityLow,
	}
	now := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	values := map[string]any{
		"Document":        doc,
		"Parameter":       doc.Parameters[0],
		"CallRequest":     schema.CallRequest{Arguments: []byte(`{"a":1}`), SearchID: "s"},
		"CallResult":      schema.CallResult{Outcome: schema.CallOK, Tool: "t", Content: []json.RawMessage{[]byte(`{"type":"text","text":"a"}`)}},
		"DescribeRequest": schema.DescribeRequest{IDs: []string{"t"}, Wanted: schema.Wanted{Include: []schema.Include{schema.IncludeSchema}, As: schema.FormMCP}},
		"DescribeResponse": schema.DescribeResponse{
			Results: []schema.Described{{ID: "t", Name: "n", Details: schema.Details{Schema: []byte(`{"type":"object"}`)}}}, Unknown: []string{},
			InForm: schema.InForm{Tools: []byte(`[]`)},
		},
		"Need": schema.Need{UserIntent: "u"},
		"Entity": schema.Entity{
			Ref: schema.Ref{Tenant: "default", Kind: schema.KindTool, ID: "t"}, Version: schema.Version{Revision: 1}, Document: doc, Updated: now,
		},
		"Feedback": schema.Feedback{SearchID: "s", ToolID: "t", Event: schema.Called, Time: now},
		"Impression": schema.Impression{
			SearchID: "s", Tenant: "default", Time: now, Model: "m", Vector: schema.Direction{1, -127}, Shown: []schema.Shown{{ID: "t", Features: []float64{1}, Matches: []schema.Match{{Score: 1}}}},
		},
		"SearchRequest": schema.SearchRequest{Query: "q", K: 3, Needs: []schema.Need{{}}, Arguments: map[string]string{"a": "b"}},
		"SearchResponse": schema.SearchResponse{
			Degraded: []string{}, Rewrite: schema.RewriteOff,
			Results: []schema.Result{{Kind: schema.KindTool, MissingParameters: []string{}, Explanation: &schema.Explanation{Summary: []string{},
				Features: map[string]float64{}, Terms: map[string]float64{}, Parts: []schema.ScorePart{{Part: "words.name", Label: "l", Value: 1}}, Parameters: []schema.ParameterMatch{{Name: "p"}},
			}}},
		},
		"Usage": schema.Usage{
			Schema: 1, Tenant: "default", Prior: map[string]float64{"a": 1}, Updated: now,
			Model: "m", Asked: map[string][]schema.Direction{"a": {{1, -127}, {127, 0}}},
		},
		"Weights": fusion.Builtin(),
	}
	for _, name := range Names() {
		v, ok := values[name]
		if !ok {
			t.Errorf("%s has a schema and no example here", name)
			continue
		}
		raw := check.Value(json.Marshal(v))(t)
		if err := validate(t, compile(t, name), string(raw)); err != nil {
			t.Errorf("%s: %s: %v", name, raw, err)
		}
	}
}

func TestInvalidValuesDoNotFitTheirSchema(t *testing.T) {
	for _, c := range []struct{ name, raw string }{
		{"SearchRequest", `{"query":"q","kk":3}`},
		{"SearchRequest", `{"query":"q","k":-1}`},
		{"SearchRequest", `{"query":"q","k":"5"}`},
		{"SearchRequest", `{"query":"q","rewrite":"llm"}`},
		{"SearchRequest", `{"query":"q","filters":{"kinds":["cat"]}}`},
		{"SearchRequest", `{"query":"q","needs":[{"intent":"x"}]}`},
		{"Feedback", `{"search_id":"s","tool_id":"t"}`},
		{"Feedback", `{"search_id":"","tool_id":"t","event":"called"}`},
		{"Feedback", `{"search_id":"s","tool_id":"t","event":"liked"}`},
		{"Usage", `{"schema":1,"tenant":"A/B","epoch":0,"prior":{},"updated":"2025-01-01T00:00:00Z"}`},
		{"Usage", `{"schema":1,"tenant":"default","epoch":0,"prior":{},"asked":{"a":[[1,2]]},"updated":"2025-01-01T00:00:00Z"}`},
		{"Document", `{"name":""}`},
		{"Impression", `{"search_id":"s","tenant":"default","query":"","time":"yesterday","weights":"","shown":[]}`},
	} {
		if err := validate(t, compile(t, c.name), c.raw); err == nil {
			t.Errorf("%s: %s fits", c.name, c.raw)
		}
	}
	if _, err := Read("Nothing"); err == nil {
		t.Error("there is a schema of nothing")
	}
}
