package fusion

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestPresetsAreWholeAndSealed(t *testing.T) {
	for _, name := range []string{BuiltinName, HeuristicName} {
		w := check.Value(Preset(name))(t)
		m, err := ModelOf(w)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m.Version != name || m.Alpha != 15 {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if _, err := Preset("nothing"); err == nil {
		t.Error("an unknown preset exists")
	}
}

func TestModelAndWeightsAreInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		w := m.Weights()
		sealed := check.Value(Seal(w))(t)
		raw := check.Value(json.Marshal(sealed))(t)
		var back schema.Weights
		check.OK(t, json.Unmarshal(raw, &back))
		got := check.Value(ModelOf(back))(t)
		if got != m {
			t.Fatalf("got %+v, want %+v", got, m)
		}
	})
}

func TestModelOfRefuses(t *testing.T) {
	cases := []struct {
		name  string
		spoil func(*schema.Weights)
		path  string
		value string
	}{
		{"NaN feature", func(w *schema.Weights) { w.Features["query.dense.name"] = math.NaN() }, "/features/query.dense.name", "NaN"},
		{"infinite bias", func(w *schema.Weights) { w.Bias = math.Inf(-1) }, "/bias", "-Inf"},
		{"huge feature", func(w *schema.Weights) { w.Features["usage.prior"] = 1e300 }, "/features/usage.prior", "1e+300"},
		{"unknown feature", func(w *schema.Weights) { w.Features["query.magic"] = 1 }, "/features", "query.magic"},
		{"tau above 1", func(w *schema.Weights) { w.Tau = 1.5 }, "/tau", "1.5"},
		{"tau below 0", func(w *schema.Weights) { w.Tau = -0.1 }, "/tau", "-0.1"},
		{"NaN tau", func(w *schema.Weights) { w.Tau = math.NaN() }, "/tau", "NaN"},
		{"free required", func(w *schema.Weights) { w.Required = 0 }, "/w_req", "0"},
		{"paid optional", func(w *schema.Weights) { w.Optional = -2 }, "/w_opt", "-2"},
		{"no steepness", func(w *schema.Weights) { w.Alpha = 0 }, "/alpha", "0"},
		{"future schema", func(w *schema.Weights) { w.Schema = 99 }, "/schema", "99"},
		{"no version", func(w *schema.Weights) { w.Version = "" }, "/version", ""},
		{"other content", func(w *schema.Weights) { w.Bias = 3 }, "/hash", ""},
		{"no hash", func(w *schema.Weights) { w.Hash = "" }, "/hash", ""},
	}
	for _, c := range cases {
		w := Builtin()
		c.spoil(&w)
		_, err := ModelOf(w)
		var invalid *schema.Invalid
		if !errors.As(err, &invalid) {
			t.Errorf("%s: error %v", c.name, err)
			continue
		}
		if invalid.Path != c.path || !strings.Contains(invalid.Error(), c.value) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestHashCoversEverythingButItself(t *testing.T) {
	w := Builtin()
	before, err := w.ContentHash()
	if err != nil || before != w.Hash {
		t.Fatalf("%s, %v", before, err)
	}
	w.Epoch++
	if after, _ := w.ContentHash(); after == before {
		t.Error("the epoch is not covered")
	}
	w.Epoch--
	w.Hash = "other"
	if after, _ := w.ContentHash(); after != before {
		t.Error("the hash covers itself")
	}
}

func FuzzModelOf(f *testing.F) {
	for _, w := range []schema.Weights{Builtin(), Heuristic(), {}} {
		raw := check.Value(json.Marshal(w))(f)
		f.Add(raw)
	}
	f.Add([]byte(`{"schema":1,"version":"x","features":{"usage.prior":1e308},"tau":2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var w schema.Weights
		if json.Unmarshal(raw, &w) != nil {
			return
		}
		m, err := ModelOf(w)
		if err != nil {
			return
		}
		features := Features{QueryDenseName: math.MaxFloat64, QueryLexicalFlat: -math.MaxFloat64}
		score, _ := m.Score(&features, []schema.Match{{Score: math.MaxFloat64, Required: true}, {Score: -math.MaxFloat64}}, m.Unit(math.MaxFloat64))
		if math.IsNaN(score) || math.IsInf(score, 0) {
			t.Fatalf("accepted weights score %v", score)
		}
	})
}

func TestTiersHaveWeightsThatRank(t *testing.T) {
	for _, name := range tierNames() {
		w := check.Value(Preset(name))(t)
		m, err := ModelOf(w)
		if err != nil || len(w.Features) < 3 || m.Tau <= 0 || w.Source == Builtin().Source {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
		if got := BuiltinFor("onnx-all-" + name + "-f32"); got.Hash != w.Hash || got.Version != BuiltinName {
			t.Errorf("%s: a model of the tier is served %+v", name, got)
		}
	}
	if BuiltinFor("nobody-knows-it").Hash != Builtin().Hash {
		t.Error("a model of no tier is not served the built-in weights")
	}
}
