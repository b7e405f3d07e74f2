package fitting

import (
	"math"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Sample is a query whose relevant tools are known, with its
// candidates. Candidates have the exact features that serving ranks them by, without
// usage.
type Sample struct {
	ID         string
	Vector     []float32 // of the query; empty where vectors take no part
	Candidates []index.Candidate
	Relevance  []float64          // of each candidate, 0 for an irrelevant one
	Relevant   []string           // ids of the relevant tools, candidates or not, each once
	Uses       map[string]float64 // how often each of these was used for the query; absent is once
	Hints      []string           // of these, which too few used to rank similar queries by it
	Suppliers  ranking.Suppliers  // of the tools of the registry; nil: the candidates have them
}

// Fitted is the result of a fit.
type Fitted struct {
	Model fusion.Model
	Usage *schema.Usage // nil: usage is not counted, or does harm
	Pairs int           // of a relevant and an irrelevant candidate that were learned from
	Check Check
}

// Check is how well queries rank by weights that were learned without them.
type Check struct {
	Queries int
	Base    float64 // mean NDCG@10 by the base
	Learned float64 // by weights learned from the other queries
}

// usesOf is how often a relevant tool was used for the query.
func (s *Sample) usesOf(tool string) float64 {
	if uses, ok := s.Uses[tool]; ok {
		return uses
	}
	return 1
}

// ndcg is the NDCG@10 of the ranking of the candidates by a model, with binary gains.
func (s *Sample) ndcg(m *fusion.Model, known ranking.Signals) float64 {
	relevant := map[schema.Ref]bool{}
	for i, c := range s.Candidates {
		if s.Relevance[i] > 0 {
			relevant[c.Ref] = true
		}
	}
	var gain, ideal float64
	for rank, r := range ranking.Rank(s.Candidates, m, known) {
		if rank == 10 {
			break
		}
		if relevant[r.Ref] {
			gain += 1 / math.Log2(float64(rank+2))
		}
	}
	for rank := range min(10, max(len(s.Relevant), len(relevant))) {
		ideal += 1 / math.Log2(float64(rank+2))
	}
	if ideal == 0 {
		return 0
	}
	return gain / ideal
}
