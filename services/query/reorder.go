package query

import (
	"context"
	"slices"

	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// reordered is what became of a ranking.
type reordered struct {
	algorithm rerank.Algorithm
	signals   []float64                       // by which it was chosen
	relevance map[schema.Ref]float64          // of what a cross-encoder judged
	moves     map[schema.Ref]schema.Reranking // of everything ranked; only where it is to be explained
}

// lineup is a ranking on its way to another order.
type lineup struct {
	ranked []ranking.Ranked
	items  []rerank.Item // beside ranked
	from   []int         // the places that the scores gave
}

// reorder puts what was ranked into the order of ToolRerank (arXiv 2403.06551),
// after a cross-encoder has judged it, if there is one. What has no owner is not
// reordered by owners, and agents are owners themselves.
func (s *Service) reorder(ctx context.Context, sr *search, ranked []ranking.Ranked) []ranking.Ranked {
	mode := sr.req.Rerank
	if mode == "" {
		mode = s.cfg.Rerank
	}
	owned := slices.ContainsFunc(ranked, func(r ranking.Ranked) bool { return ranking.Owner(&r.Candidate) != "" })
	if mode == schema.RerankOff || sr.req.Rank == schema.RankAgents || !owned && s.deps.Scorer == nil {
		return ranked
	}
	ctx, st := s.stage(ctx, "rerank")
	defer st.end(nil)
	items, err := s.items(ctx, sr, ranked)
	if err != nil {
		sr.degrade(degradedRerank)
		return ranked
	}
	algorithm, single := rerank.None, 0.
	var needs []rerank.Words
	switch {
	case !owned:
	case mode == schema.RerankAuto:
		classifier := sr.usage.classifier()
		needs = needWords(sr.plan.needs)
		signals := rerank.SignalsOf(items, needs)
		sr.reordered.signals = signals[:]
		single = classifier.Probability(signals)
		algorithm = s.cfg.Reranking.Choose(items, single)
	default:
		algorithm = rerank.Algorithm(mode)
	}
	l, bounds := s.judged(ctx, sr, lineup{ranked, rerank.Calibrate(items), upTo(len(ranked))})
	order := bounds.Order(l.items, needs, algorithm)
	sr.reordered.algorithm = algorithm
	if sr.req.Explain {
		sr.reordered.moves = l.moves(order, algorithm, single)
	}
	out := make([]ranking.Ranked, len(order))
	for to, place := range order {
		out[to] = l.ranked[place.At]
	}
	return out
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// items returns a ranking as reranking sees it. Words are known of what can be
// reordered; a tool is seen if one of its owner's was used.
func (s *Service) items(ctx context.Context, sr *search, ranked []ranking.Ranked) ([]rerank.Item, error) {
	bounds := s.cfg.Reranking
	items := make([]rerank.Item, len(ranked))
	seen := map[string]bool{}
	for i := range ranked {
		r := &ranked[i]
		items[i] = rerank.Item{ID: r.ID, Owner: ranking.Owner(&r.Candidate), Score: r.Score}
		_, used := sr.usage.table.Prior[r.ID]
		seen[items[i].Owner] = seen[items[i].Owner] || used
		if i >= max(bounds.KeepSeen, bounds.KeepUnseen) {
			continue
		}
		var err error
		if items[i].Words, err = s.words(ctx, sr.view.Catalogue, r.Ref); err != nil {
			return nil, err
		}
	}
	for i := range items {
		items[i].Seen = seen[items[i].Owner]
		if items[i].Owner == "" {
			_, items[i].Seen = sr.usage.table.Prior[items[i].ID]
		}
	}
	return items, nil
}

// words returns the words of an entity's document, none where it is gone.
func (s *Service) words(ctx context.Context, c Catalogue, ref schema.Ref) (rerank.Words, error) {
	version, _, _ := c.Version(ref)
	if words, ok := s.documents.get(ref, version); ok {
		return words, nil
	}
	e, _, ok, err := c.Get(ctx, ref)
	if err != nil || !ok {
		return nil, err
	}
	words := DocumentWords(&e.Document)
	s.documents.put(ref, e.Version, words)
	return words, nil
}

// moves tells of every entity where reordering put it, and why.
func (l lineup) moves(order []rerank.Place, a rerank.Algorithm, single float64) map[schema.Ref]schema.Reranking {
	out := make(map[schema.Ref]schema.Reranking, len(order))
	done := schema.Rerank(a)
	if a == rerank.None {
		done = schema.RerankOff
	}
	for to, place := range order {
		out[l.ranked[place.At].Ref] = schema.Reranking{
			Algorithm: done, Single: single, Calibrated: l.items[place.At].Score,
			From: l.from[place.At] + 1, To: to + 1, Why: string(place.Why),
		}
	}
	return out
}
