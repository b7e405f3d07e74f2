package query

import (
	"context"
	"hash/fnv"
	"math"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// shadowPrefix begins the keys of the weights on trial.
const shadowPrefix = "weights.shadow."

// shadowed is how the weights on trial would have ranked a search.
type shadowed struct {
	weights string
	rank    map[schema.Ref]int // from 1
}

// beside scores what was ranked once more, by the tenant's weights on trial, if
// there are some and the search is one of the share that is to be. Nothing is
// retrieved for it: tools that these weights alone would have found are missing,
// and so are suppliers of their own front runners.
func (s *Service) beside(ctx context.Context, sr *search, ranked []ranking.Ranked) *shadowed {
	m := s.shadows.of(nil, schema.ModelOwner(sr.tenant, sr.view.Model))
	if m == nil || len(ranked) == 0 || sr.req.Rank == schema.RankAgents || !shared(sr.id, s.cfg.Shadow) {
		return nil
	}
	_, st := s.stage(ctx, "shadow")
	defer st.end(nil)
	candidates := make([]index.Candidate, len(ranked))
	for i := range ranked {
		candidates[i] = ranked[i].Candidate
	}
	would := ranking.Rank(candidates, m, sr.known())
	out := &shadowed{weights: m.Version, rank: make(map[schema.Ref]int, len(would))}
	for i := range would {
		out.rank[would[i].Ref] = i + 1
	}
	if would[0].Ref != ranked[0].Ref {
		s.metrics.topChanged.Inc()
	}
	s.metrics.overlap.Observe(out.overlap(ranked[:min(len(ranked), sr.req.K)]))
	return out
}

// shared reports whether a search is one of that share of all.
func shared(id string, share float64) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return float64(h.Sum32()) < share*math.MaxUint32
}

// of returns the ranks of what is shown, nil where nothing was scored.
func (s *shadowed) of(tenant string, shown []schema.Shown) *schema.Shadow {
	if s == nil {
		return nil
	}
	out := &schema.Shadow{Weights: s.weights, Ranks: make([]int, len(shown))}
	for i, r := range shown {
		kind := r.Kind
		if kind == "" {
			kind = schema.KindTool
		}
		out.Ranks[i] = s.rank[schema.Ref{Tenant: tenant, Kind: kind, ID: r.ID}]
	}
	return out
}

// overlap returns the share of the first results by the live weights, before
// anything is reordered, that would have been among as many.
func (s *shadowed) overlap(first []ranking.Ranked) float64 {
	both := 0
	for i := range first {
		if rank := s.rank[first[i].Ref]; rank > 0 && rank <= len(first) {
			both++
		}
	}
	return float64(both) / float64(len(first))
}

// newShadows returns the weights on trial: none until some arrive.
func newShadows(from *live[*fusion.Model]) *live[*fusion.Model] {
	return &live[*fusion.Model]{what: "shadow", prefix: shadowPrefix, decode: decodeWeights, log: from.log, metrics: from.metrics}
}
