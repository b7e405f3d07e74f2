package paper

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The right side is what Python 3 prints for json.dumps(json.loads(left)).
func TestJSONText(t *testing.T) {
	for document, want := range map[string]string{
		`{"b":1,"a":[true,null,{}],"c":[]}`:         `{"b": 1, "a": [true, null, {}], "c": []}`,
		`"é😀\u0000\/\"\\\n\r\t\b\f\u007f"`:          `"\u00e9\ud83d\ude00\u0000/\"\\\n\r\t\b\f\u007f"`,
		`[1.50, 1e5, 1E-5, 0.0001, 1e16, 1e22, 12]`: `[1.5, 100000.0, 1e-05, 0.0001, 1e+16, 1e+22, 12]`,
		`[123456789012345680.0, 1234567.5, -0.0]`:   `[1.2345678901234568e+17, 1234567.5, -0.0]`,
		` { "x" : { "y" : "z" } } `:                 `{"x": {"y": "z"}}`,
		`7`:                                         `7`,
	} {
		got, err := JSONText(json.RawMessage(document))
		if err != nil || got != want {
			t.Errorf("JSONText(%s) = %s, %v, want %s", document, got, err, want)
		}
	}
	if _, err := JSONText(json.RawMessage(`{"a":`)); err == nil {
		t.Error("half a document was accepted")
	}
}

// axes embeds by looking up: it makes cosines that can be worked out by hand.
type axes map[string][]float32

func (a axes) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		v, ok := a[text]
		if !ok {
			return nil, errors.New("unknown text: " + text)
		}
		out[i] = v
	}
	return out, nil
}

func parameter(name string, required bool) dataset.Parameter {
	raw, _ := json.Marshal(map[string]any{"type": "string"})
	return dataset.Parameter{Name: name, Required: required, Raw: raw}
}

func twoTools() []dataset.Standardized {
	return []dataset.Standardized{
		{ID: "a", Description: "da", Response: "ra", Examples: []string{"e1", "e2"},
			Parameters: []dataset.Parameter{parameter("p", true), parameter("q", false)}},
		{ID: "b", Description: "db", Response: "rb"},
	}
}

func TestDenseScores(t *testing.T) {
	x, y, half := []float32{1, 0}, []float32{0, 1}, []float32{0.6, 0.8}
	model := axes{
		"da": x, "db": y, "ra": x, "rb": x, "e1": x, "e2": half,
		`{"type": "string", "name": "p"}`: x, `{"type": "string", "name": "q"}`: {0, -1},
		"d1": half, "d2": y, "r1": y, "r2": half, "u1": y, "u2": y, "n: m": half, "o: k": y,
	}
	s := check.Value(New(context.Background(), twoTools(), model))(t)
	got := check.Value(s.Score(context.Background(), &dataset.Rewritten{
		Needs: []schema.Need{
			{ToolDescription: "d1", ExpectedResponse: "r1", UserIntent: "u1"},
			{ToolDescription: "d2", ExpectedResponse: "r2", UserIntent: "u2"},
		},
		Arguments: []dataset.Argument{{Name: "n", Meaning: "m"}, {Name: "o", Meaning: "k"}},
	}))(t)
	f := DenseFields()
	for i, want := range []map[fusion.Feature]float64{
		{f[0]: 0.6, f[2]: 0.6, f[3]: 0.8, f[1]: 0.3},
		{f[0]: 1, f[2]: 0.6, f[3]: 0, f[1]: 0},
	} {
		for feature, x := range want {
			if d := got[i].Features[feature] - x; d > 1e-6 || d < -1e-6 {
				t.Errorf("tool %d: %v is %v, want %v", i, feature, got[i].Features[feature], x)
			}
		}
	}
	m := got[0].Matches
	if len(m) != 2 || !m[0].Required || m[1].Required || m[1].Score != 0 || len(got[1].Matches) != 0 {
		t.Errorf("matches %v and %v", m, got[1].Matches)
	}
}

func TestNoArguments(t *testing.T) {
	s := check.Value(New(context.Background(), twoTools(), nil))(t)
	got := check.Value(s.Score(context.Background(), &dataset.Rewritten{Needs: []schema.Need{{ToolDescription: "da"}}}))(t)
	if m := got[0].Matches; len(m) != 2 || m[0].Score != 0 || m[1].Score != 0 {
		t.Errorf("matches %v, want both parameters missing", m)
	}
}

func TestModelFails(t *testing.T) {
	if _, err := New(context.Background(), twoTools(), axes{}); err == nil {
		t.Error("a failing model was accepted")
	}
}

func TestReferenceNeedsFourWeights(t *testing.T) {
	if _, err := reference(dataset.ReferenceWeights{Base: [][]float64{{1, 2}}}, LexicalFields()); err == nil {
		t.Error("two base weights were accepted")
	}
	m, err := reference(dataset.ReferenceWeights{Base: [][]float64{{1, 2, 3, 4}}, Bias: []float64{5}, Tau: 0.5, Alpha: 15, Required: 1, Optional: 2}, LexicalFields())
	if err != nil || m.Features[fusion.NeedsLexicalParameters] != 2 || m.Features[fusion.NeedsLexicalExamples] != 4 || m.Bias != 5 {
		t.Errorf("%v, %v", m, err)
	}
}
