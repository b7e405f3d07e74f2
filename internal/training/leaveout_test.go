package training

import (
	"fmt"
	"testing"

	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// strangers are queries of which each wants a tool of its own, which ranks first by a
// little before one that another query wants.
func strangers(queries int) []evaluation.Sample {
	samples := make([]evaluation.Sample, queries)
	for i := range samples {
		s := &samples[i]
		s.Query = dataset.Query{ID: fmt.Sprint("q", i)}
		for rank, j := range []int{i, (i + 1) % queries, queries} {
			c := index.Candidate{Ref: schema.Ref{Kind: schema.KindTool, ID: fmt.Sprintf("t%02d", j)}}
			c.Features[fusion.QueryLexicalFlat] = 10 - 0.1*float64(rank)
			s.Candidates, s.Relevance = append(s.Candidates, c), append(s.Relevance, 0)
		}
		s.Relevance[0] = 1
		s.Query.Labels = []dataset.Label{{ID: s.Candidates[0].ID, Relevance: 1}}
	}
	return samples
}

func TestUseHarmsWhereNothingIsWantedAgain(t *testing.T) {
	unlabelled := strangers(60)
	for i := range unlabelled {
		unlabelled[i].Relevance[0] = 0
	}
	for _, c := range []struct {
		what    string
		samples []evaluation.Sample
		harms   bool
	}{
		{"wanted again", registry(150, 1, false), false},
		{"never wanted again", strangers(60), true},
		{"a few queries", strangers(enough - 1), false},
		{"nothing to learn from", unlabelled, false},
	} {
		l := &lesson{samples: c.samples, base: heedful(t), counts: countUses(c.samples)}
		if got := l.useHarms(); got != c.harms {
			t.Errorf("%s: does harm: %v", c.what, got)
		}
	}
}

// heedful are built-in weights that give use a say.
func heedful(t *testing.T) fusion.Model {
	m := builtin(t)
	m.Features[fusion.UsagePrior] = 1
	return m
}

// What ranks wrong by use alone need not do so by what is learned with it: then use stays.
func TestUseThatDoesHarmIsLeftOut(t *testing.T) {
	used, err := Config{}.Fit(t.Context(), heedful(t), strangers(60), evaluation.FitOptions{Usage: true})
	if err != nil || used.Usage != nil {
		t.Errorf("use counts where nobody wants again what others wanted: %v", err)
	}
	common := registry(200, 3, true)
	l := &lesson{samples: common, base: builtin(t), counts: countUses(common)}
	if !l.useHarms() || fit(t, common, true).Usage == nil {
		t.Error("use does not count where it helps once it is learned from")
	}
}

// A search that was recorded is judged as it ranked: what supplies what the others take
// is lifted, though it is not known any more by what.
func TestRecordedSearchesAreJudgedAsTheyRanked(t *testing.T) {
	s := strangers(4)[0]
	s.Candidates[2].Features[fusion.RelatedSupply] = 0.9
	s.Relevance = []float64{0, 0, 1}
	s.Query.Labels = []dataset.Label{{ID: s.Candidates[2].ID, Relevance: 1}}
	m := builtin(t)
	l := &lesson{base: m}
	if got := quality(&s, &m, l.known(&s)); got != 1 {
		t.Errorf("NDCG %v, want 1", got)
	}
	s.Suppliers = func(string) []index.Supplier { return nil }
	if got := quality(&s, &m, l.known(&s)); got >= 1 {
		t.Errorf("NDCG %v where it is known that nothing supplies it", got)
	}
}
