package rerank

import (
	"math"
	"testing"
)

func TestEvidence(t *testing.T) {
	items := []Item{
		{ID: "a", Owner: "x", Needs: []float64{10, 2}},
		{ID: "b", Owner: "y", Needs: []float64{5, 5}},
		{ID: "c", Owner: "x", Needs: []float64{-1, 3}},
		{ID: "d", Owner: "z", Needs: []float64{9, 4}},
	}
	// The best are 10 and 5: x has 10·10 + 5·3 of 125, and y adds 5·2 to that.
	e := EvidenceOf(items)
	if e.Needs != 2 || math.Abs(e.Coverage-115./125) > 1e-9 || math.Abs(e.Lift-10./125) > 1e-9 {
		t.Errorf("%+v", e)
	}
	for name, items := range map[string][]Item{
		"no tool": nil, "no need": {{ID: "a"}, {ID: "b"}}, "nothing matches": {{ID: "a", Needs: []float64{0, -1}}},
		"a tool without needs": {{ID: "a"}, {ID: "b", Needs: []float64{1}}},
	} {
		if e := EvidenceOf(items); e != (Evidence{}) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestChoose(t *testing.T) {
	c := DefaultConfig().Classifier
	for _, test := range []struct {
		evidence Evidence
		want     Algorithm
	}{
		{Evidence{Needs: 2, Coverage: 1}, Single},
		{Evidence{Needs: 2, Coverage: 0.5, Lift: 0.5}, Multi},
		{Evidence{Needs: 2, Coverage: 0.75, Lift: 0.1}, None},
		{Evidence{Needs: 1, Coverage: 1}, None},
		{Evidence{}, None},
	} {
		if got := c.Choose(test.evidence); got != test.want {
			t.Errorf("%+v: %q, not %q (%.2f)", test.evidence, got, test.want, c.Single(test.evidence))
		}
	}
}
