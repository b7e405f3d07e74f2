package evaluator

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/engine/ranking"
)

// drawnResults returns results of which the model's share is right.
func drawnResults(m *ranking.Confidence, n int) (out [][]judgedResult) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range n {
		e := ranking.Evidence{Standing: rng.Float64(), Meaning: rng.Float64(), Named: rng.Float64()}
		out = append(out, []judgedResult{{e, rng.Float64() < m.Of(e)}})
	}
	return out
}

func TestFittingFindsTheModel(t *testing.T) {
	want := ranking.Confidence{Bias: -3, Standing: 2, Meaning: 1, Named: 3}
	found := []asked{{set: "a", of: "a", results: drawnResults(&want, 20_000)}}
	got := fitConfidence(found)
	for _, d := range []float64{got.Bias - want.Bias, got.Standing - want.Standing, got.Meaning - want.Meaning, got.Named - want.Named} {
		if math.Abs(d) > 0.35 {
			t.Fatalf("fitted %+v, drawn by %+v", got, want)
		}
	}
	f := figuresOf(found[0].results[0], &want)
	if f.ECE != math.Abs(f.Mean-f.Right) {
		t.Errorf("of one result: %+v", f)
	}
	var all []judgedResult
	for _, r := range found[0].results {
		all = append(all, r...)
	}
	if f := figuresOf(all, &want); f.ECE > 0.02 || f.Brier >= f.Right*(1-f.Right) {
		t.Errorf("by the model that drew them: %+v", f)
	}
	if f := figuresOf(all, &ranking.Confidence{Bias: 10}); math.Abs(f.ECE-(1-f.Right)) > 0.01 {
		t.Errorf("always sure: %+v", f)
	}
}

// Of a set are asked its queries, those that no tool is for by themselves, and as foreign
// ones those of a set that is much larger.
func TestWhatASetIsAsked(t *testing.T) {
	sized := func(name string, tools int) labelledSet {
		e := &evaluator{set: &dataset.Set{Name: name}}
		return labelledSet{evaluator: e, tools: tools, labelled: make([]dataset.Query, 1), unlabelled: make([]dataset.Query, tools%2)}
	}
	sets := []labelledSet{sized("small", 10), sized("large", 81), sized("larger", 90)}
	want := map[string][]string{"small": {"small", "large foreign", "larger foreign"}, "large": {"large", "large foreign"}, "larger": {"larger"}}
	for i := range sets {
		var got []string
		for _, a := range sets[i].toAsk(sets) {
			if a.foreign {
				a.of += " foreign"
			}
			got = append(got, a.of)
		}
		name := sets[i].set.Name
		if len(got) != len(want[name]) {
			t.Fatalf("%s is asked %v, want %v", name, got, want[name])
		}
		for k := range got {
			if got[k] != want[name][k] {
				t.Errorf("%s is asked %v, want %v", name, got, want[name])
			}
		}
	}
}
