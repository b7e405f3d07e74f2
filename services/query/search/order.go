package search

import (
	"context"
	"slices"

	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/schema"
)

// ordered is the hits of a search in the order of the answer.
type ordered struct {
	hits   []ranking.Hit
	clicks map[schema.Ref]schema.Clicks // of each tool that they say something about or move; only to be explained
	before map[schema.Ref]int           // place of each before clicks moved some; nil if they moved none
	reranked
}

// order ranks the candidates and puts copies of other providers into one hit each, unless the
// request wants all of them. If copies take so many of the candidates that results would be
// missing, it asks for more candidates, once. Tools that are held back come last.
func (rq *request) order(ctx context.Context, q query, found Retrieval) (Retrieval, ordered) {
	ranked := rq.rank(ctx, q, found)
	if (rq.req.Collapse == nil || *rq.req.Collapse) && found.Rank != schema.RankProviders {
		all, n := len(ranked.hits), depth(found.Rank, rq.req.K)
		ranked.hits = ranking.Collapse(ranked.hits, rq.req.K, found.Steps[0].Signals.Usage)
		missing := len(ranked.hits) < rq.req.K && len(ranked.hits) < all
		if missing && slices.ContainsFunc(found.Steps, func(step Step) bool { return len(step.Candidates) >= n }) {
			if more, err := rq.retrieve(ctx, q, wider*n); err == nil { // fewer results are better than none
				found, ranked = more, rq.rank(ctx, q, more)
				ranked.hits = ranking.Collapse(ranked.hits, rq.req.K, found.Steps[0].Signals.Usage)
			}
		}
	}
	if !slices.ContainsFunc(found.Steps, func(step Step) bool { return len(step.heldBack) > 0 }) {
		return found, ranked
	}
	there := map[schema.Ref]bool{}
	for _, h := range ranked.hits {
		there[h.Ref] = true
	}
	rankings := make([][]ranking.Ranked, len(found.Steps))
	for i, step := range found.Steps {
		rankings[i] = ranking.Rank(step.heldBack, rq.model, step.Signals)
	}
	for _, h := range ranking.Hits(rankings, found.Rank, "") {
		if !there[h.Ref] { // a provider may have other tools, too
			ranked.hits = append(ranked.hits, h)
		}
	}
	return found, ranked
}

// rank scores the candidates. Only a search of one step is reranked, and reordered by
// what users did with the results of the same query.
func (rq *request) rank(ctx context.Context, q query, found Retrieval) (out ordered) {
	_, span := telemetry.StartSpan(ctx, "fuse")
	rankings := make([][]ranking.Ranked, len(found.Steps))
	for i, step := range found.Steps {
		rankings[i] = ranking.Rank(step.Candidates, rq.model, step.Signals)
	}
	span.End()
	if len(rankings) == 1 {
		uses := found.Steps[0].Signals.Usage
		out.reranked = rq.rerank(ctx, q, found.Rank, found.Steps[0], rankings[0])
		rankings[0] = ranking.ByClicks(out.ranked, rq.model, uses)
		places, moved := make(map[schema.Ref]int, len(out.ranked)), false
		for i := range out.ranked {
			places[out.ranked[i].Ref] = i + 1
			moved = moved || out.ranked[i].Ref != rankings[0][i].Ref
		}
		if moved {
			out.before = places
		}
		if rq.req.Explain && uses != nil {
			out.clicks = map[schema.Ref]schema.Clicks{}
			for i, r := range rankings[0] {
				c := schema.Clicks{From: places[r.Ref], To: i + 1}
				if r.Kind == schema.KindTool {
					c.LogOdds = uses.ClickLogOdds(r.ID)
				}
				if c.LogOdds != 0 || c.From != c.To {
					out.clicks[r.Ref] = c
				}
			}
		}
	}
	first := ""
	if found.Rank == schema.RankProviders && found.Chosen != nil {
		first = found.Chosen.Provider
	}
	out.hits = ranking.Hits(rankings, found.Rank, first)
	return out
}
