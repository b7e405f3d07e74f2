package query

import (
	"context"
	"slices"

	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxOffers bounds the other offers that a result names.
const maxOffers = 10

// collapse puts copies of other providers into one hit each, where the request does not
// want all of them. Where copies take so many of the candidates that results would be
// missing, it asks for more candidates, once.
func (s *Service) collapse(ctx context.Context, sr *search, q rewritten, found Retrieval, answer ordered) (Retrieval, ordered) {
	if sr.req.Collapse != nil && !*sr.req.Collapse || found.Rank == schema.RankProviders {
		return found, answer
	}
	all := len(answer.hits)
	answer.hits = ranking.Collapse(answer.hits, sr.req.K, found.Steps[0].Signals.Usage)
	if len(answer.hits) >= sr.req.K || len(answer.hits) == all || !full(found.Steps, depth(found.Rank, sr.req.K)) {
		return found, answer
	}
	sr.depth = wider * depth(found.Rank, sr.req.K)
	more, err := s.retrieve(ctx, sr, q)
	if err != nil {
		return found, answer // fewer results are better than none
	}
	answer = s.order(ctx, sr, q, more)
	answer.hits = ranking.Collapse(answer.hits, sr.req.K, more.Steps[0].Signals.Usage)
	return more, answer
}

// full reports whether the index had as many candidates as it was asked for.
func full(steps []Step, depth int) bool {
	for i := range steps {
		if len(steps[i].Candidates) >= depth {
			return true
		}
	}
	return false
}

// first returns what the catalogue says of the first of a hit and its copies that can be
// shown, and that hit, with the others that are still there.
func (sr *search) first(ctx context.Context, h ranking.Hit) (ranking.Hit, known, bool) {
	for others := h.Others; ; others = others[1:] {
		if entity, ok := sr.entity(ctx, h); ok && !sr.hides(&entity.Entity) {
			h.Others = sr.there(others)
			return h, entity, true
		}
		if len(others) == 0 {
			return h, known{}, false
		}
		h = others[0]
	}
}

// callable returns a hit and what the catalogue says of it, or the first of its copies where the
// caller can call that and not the hit, with whether it can be called.
func (sr *search) callable(ctx context.Context, h ranking.Hit, entity known, connectionOf func(*known) *schema.Connection) (ranking.Hit, known, *schema.Connection) {
	connection := connectionOf(&entity)
	if connection == nil || connection.Connected {
		return h, entity, connection
	}
	for i, other := range h.Others {
		of, ok := sr.entity(ctx, other)
		if !ok || sr.hides(&of.Entity) {
			continue
		}
		if c := connectionOf(&of); c != nil && c.Connected {
			rest := slices.Delete(slices.Clone(h.Others), i, i+1)
			h.Others = nil
			other.Others = append([]ranking.Hit{h}, rest...)
			return other, of, c
		}
	}
	return h, entity, connection
}

// there returns the hits that were not deleted.
func (sr *search) there(hits []ranking.Hit) []ranking.Hit {
	var out []ranking.Hit
	for _, h := range hits {
		if _, deleted, _ := sr.index.Catalogue.Version(h.Ref); !deleted {
			out = append(out, h)
		}
	}
	return out
}

// offer notes in a result, and in what is remembered of it, who else offers the tool.
func offer(r *schema.Result, s *schema.Shown, others []ranking.Hit) {
	r.OtherOffers = len(others)
	for _, h := range others[:min(len(others), maxOffers)] {
		r.AlsoOfferedBy = append(r.AlsoOfferedBy, schema.Offer{ID: h.ID, Provider: h.By.Provider})
	}
	s.Also = r.AlsoOfferedBy
}
