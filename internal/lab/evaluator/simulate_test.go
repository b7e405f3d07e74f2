package evaluator

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

func simulateConfig(t *testing.T) SimulateConfig {
	files := smallSet()
	files["folds.jsonl"] = `{"fold":0,"test":["q1","q4"]}
{"fold":1,"test":["q2","q3"]}
`
	dir := writeSet(t, files)
	return SimulateConfig{Dir: dir, Seeds: 2, Rounds: 3, Users: 10, Config: evalConfig(t, dir, nil).Config}
}

func TestSimulateRepeats(t *testing.T) {
	cfg := simulateConfig(t)
	cfg.Drift, cfg.Silent, cfg.Thorough, cfg.Invented = true, true, true, true
	first := check.Value(Simulate(t.Context(), cfg, nil))(t)
	second, err := Simulate(t.Context(), cfg, nil)
	if err != nil || !reflect.DeepEqual(first, second) {
		t.Errorf("%+v, and again %+v: %v", first, second, err)
	}
	if first.Dataset != "harbour" || first.Start <= 0 || first.FullLabels <= 0 || first.ShownLabels <= 0 || len(first.Curve) != 1+cfg.Rounds {
		t.Errorf("%+v", first)
	}
	if p := first.Curve[cfg.Rounds]; p.NDCG != first.Clicks || p.Events == 0 || first.Curve[0].NDCG != first.Start {
		t.Errorf("the curve %v does not go from %v to %v", first.Curve, first.Start, first.Clicks)
	}
}

// Of what was not shown nobody can say that it is right.
func TestLabelsOfWhatWasShown(t *testing.T) {
	candidate := func(id string) index.Candidate {
		return index.Candidate{Ref: schema.Ref{Kind: schema.KindTool, ID: id}}
	}
	train := []Sample{
		{
			Query: dataset.Query{ID: "both", Labels: []relevance.Label{
				{ID: "a", Relevance: 1}, {ID: "b", Relevance: 1}, {ID: "c", Relevance: 1, Alternatives: []string{"d"}},
			}},
			Candidates: []index.Candidate{candidate("a"), candidate("b"), candidate("d")}, Relevance: []float64{1, 1, 1},
		},
		{Query: dataset.Query{ID: "none", Labels: []relevance.Label{{ID: "a", Relevance: 1}}}, Candidates: []index.Candidate{candidate("a")}, Relevance: []float64{1}},
	}
	seen := shown{}
	seen.add("both", []string{"a", "x"})
	seen.add("both", []string{"d"})
	got := seen.labels(train)
	if l := got[0].Query.Labels; len(l) != 2 || l[0].ID != "a" || l[1].ID != "c" || !slices.Equal(got[0].Relevance, []float64{1, 0, 1}) {
		t.Errorf("%+v, relevance %v", l, got[0].Relevance)
	}
	if l := got[1].Query.Labels; len(l) != 0 || got[1].Relevance[0] != 0 {
		t.Errorf("of what was never asked: %+v, relevance %v", l, got[1].Relevance)
	}
	if len(train[0].Query.Labels) != 3 || train[0].Relevance[1] != 1 {
		t.Error("the labels themselves have changed")
	}
}

// One round is partly chance, where there are many the last tenth of them tells.
func TestTheEndIsTheLastTenth(t *testing.T) {
	curve := []LearningPoint{{NDCG: 0.1}}
	for range 17 {
		curve = append(curve, LearningPoint{NDCG: 0.2})
	}
	curve = append(curve, LearningPoint{NDCG: 0.5})
	if x := atEnd(curve); x != 0.5 {
		t.Errorf("of 18 rounds the last one has %v", x)
	}
	curve = append(curve, LearningPoint{NDCG: 0.6}, LearningPoint{NDCG: 0.8})
	if x := atEnd(curve); math.Abs(x-0.7) > 1e-9 {
		t.Errorf("of 20 rounds the last two have %v", x)
	}
	if x := atEnd(curve[:1]); x != 0.1 {
		t.Errorf("of none it is %v", x)
	}
}

// What is lost is back with the first measure that has nine tenths of it.
func TestDriftSettles(t *testing.T) {
	d := Drift{Curve: []LearningPoint{{0, 0.5}, {10, 0.8}, {10, 0.4}, {25, 0.71}, {40, 0.73}, {55, 0.6}}}
	if d.settle(1); d.Before != 0.8 || d.After != 0.4 || d.End != 0.6 || d.Recovered == nil || *d.Recovered != 30 {
		t.Errorf("%+v", d)
	}
	d = Drift{Curve: []LearningPoint{{0, 0.5}, {10, 0.8}, {10, 0.4}, {25, 0.71}}}
	if d.settle(1); d.Recovered != nil {
		t.Errorf("recovered after %v", *d.Recovered)
	}
}

// Of the tools that are asked for a third hand that over, each to one that stands
// near and that nobody wants beside it.
func TestSuccessorsStandNear(t *testing.T) {
	tools := []string{"a", "b", "c", "d", "e", "f"}
	var samples []Sample
	for i, tool := range tools[:3] {
		s := Sample{Query: dataset.Query{ID: tool, Labels: []relevance.Label{
			{ID: tool, Relevance: 1}, {ID: "wrong for " + tool}, {ID: "no answer to " + tool},
		}}}
		for j := range tools {
			s.Candidates = append(s.Candidates, index.Candidate{Ref: schema.Ref{Kind: schema.KindTool, ID: tools[(i+j)%len(tools)]}})
		}
		samples = append(samples, s)
	}
	to := successors(samples, rand.New(rand.NewPCG(1, 2)))
	if len(to) != 1 {
		t.Fatalf("%v of three tools change", to)
	}
	for i, tool := range tools[:3] {
		want := tool
		if to[tool] != "" {
			want = tools[i+1]
		}
		changed := relabelled(samples, to)[i]
		if got := changed.Query.Labels[0].ID; got != want || changed.Relevance[slices.Index(tools, want)-i] != 1 {
			t.Errorf("%s is %s, want %s; relevance %v", tool, got, want, changed.Relevance)
		}
		if samples[i].Query.Labels[0].ID != tool {
			t.Errorf("%s has changed for good", tool)
		}
	}
}
