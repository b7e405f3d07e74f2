package fitting

import (
	"fmt"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// strangers are queries of which each wants a tool of its own, which ranks first by a
// little before one that another query wants.
func strangers(queries int) []Sample {
	samples := make([]Sample, queries)
	for i := range samples {
		s := &samples[i]
		s.ID = fmt.Sprint("q", i)
		for rank, j := range []int{i, (i + 1) % queries, queries} {
			c := index.Candidate{Ref: schema.Ref{Kind: schema.KindTool, ID: fmt.Sprintf("t%02d", j)}}
			c.Features[fusion.QueryLexicalFlat] = 10 - 0.1*float64(rank)
			s.Candidates, s.Relevance = append(s.Candidates, c), append(s.Relevance, 0)
		}
		s.Relevance[0] = 1
		s.Relevant = []string{s.Candidates[0].ID}
	}
	return samples
}

func TestUsageHarmsIfNoToolIsWantedTwice(t *testing.T) {
	unlabelled := strangers(60)
	for i := range unlabelled {
		unlabelled[i].Relevance[0] = 0
	}
	for _, c := range []struct {
		what    string
		samples []Sample
		harms   bool
	}{
		{"wanted again", registry(150, 1, false), false},
		{"never wanted again", strangers(60), true},
		{"a few queries", strangers(enoughQueries - 1), false},
		{"nothing to learn from", unlabelled, false},
	} {
		l := &fitter{samples: c.samples, base: withPrior(t), counts: countUses(c.samples)}
		if got := l.usageHarms(); got != c.harms {
			t.Errorf("%s: does harm: %v", c.what, got)
		}
	}
}

// withPrior are built-in weights that give use a say.
func withPrior(t *testing.T) fusion.Model {
	m := builtin(t)
	m.Features[fusion.UsagePrior] = 1
	return m
}

func TestHarmfulUsageIsLeftOut(t *testing.T) {
	used, err := Config{Usage: true}.Fit(t.Context(), withPrior(t), strangers(60))
	if err != nil || used.Usage != nil {
		t.Errorf("use counts where nobody wants again what others wanted: %v", err)
	}
}

// A search that was recorded is judged as it ranked: what supplies what the others take
// is lifted, though it is not known any more by what.
func TestRecordedSearchesAreJudgedAsTheyRanked(t *testing.T) {
	s := strangers(4)[0]
	s.Candidates[2].Features[fusion.RelatedSupply] = 0.9
	s.Relevance = []float64{0, 0, 1}
	s.Relevant = []string{s.Candidates[2].ID}
	m := builtin(t)
	l := &fitter{base: m}
	if got := s.ndcg(&m, l.known(&s)); got != 1 {
		t.Errorf("NDCG %v, want 1", got)
	}
	s.Suppliers = ranking.Suppliers{}
	if got := s.ndcg(&m, l.known(&s)); got >= 1 {
		t.Errorf("NDCG %v where it is known that nothing supplies it", got)
	}
	s.Suppliers, s.Candidates[2].Features[fusion.RelatedSupply] = nil, 0
	s.Candidates[2].Features[fusion.RelatedNeed] = 1000
	if got := s.ndcg(&m, l.known(&s)); got != 1 {
		t.Errorf("NDCG %v of the best for a need, want 1", got)
	}
}
