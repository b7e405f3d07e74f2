package query

import (
	"context"
	"fmt"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Candidates returns the n entities that a search for req would consider
// first by the model m, usage left out, with their exact features, and behind
// them the suppliers that Search would add: what Search ranks, as deep as wanted
// and without a record of it. Evaluation measures and
// learns from it, so it fails where Search would answer with less.
func (s *Service) Candidates(ctx context.Context, tenant string, req schema.SearchRequest, m *fusion.Model, n int) ([]index.Candidate, error) {
	if _, err := req.Normalize(); err != nil {
		return nil, err
	}
	view, done := s.use()
	defer done()
	sr := &search{tenant: tenant, req: req, plan: rewrite(req), model: m, usage: &usage{}, pool: n, view: view}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	probe := sr.plan.probe(s.embed(ctx, sr, sr.plan.texts()))
	if len(sr.degraded) > 0 {
		return nil, fmt.Errorf("query %q: the embedder does not answer", schema.Quote(req.Query))
	}
	return s.candidates(ctx, sr, probe)
}

// Choose says what Search would rank for a request that leaves it open, by the
// model m, usage left out.
func (s *Service) Choose(ctx context.Context, tenant string, req schema.SearchRequest, m *fusion.Model) (*schema.Chosen, error) {
	if _, err := req.Normalize(); err != nil {
		return nil, err
	}
	view, done := s.use()
	defer done()
	sr := &search{tenant: tenant, req: req, plan: rewrite(req), model: m, usage: &usage{}, view: view}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	err := s.decide(ctx, sr)
	if err == nil && len(sr.degraded) > 0 {
		err = fmt.Errorf("query %q: without %v", schema.Quote(req.Query), sr.degraded)
	}
	return sr.chosen, err
}

// Vector returns the vector of a request's query, by which Search compares it
// with earlier ones; it is empty where there is nothing to embed.
func (s *Service) Vector(ctx context.Context, req schema.SearchRequest) ([]float32, error) {
	if _, err := req.Normalize(); err != nil {
		return nil, err
	}
	view, done := s.use()
	defer done()
	vectors, err := s.callEmbedder(ctx, view, []string{rewrite(req).query})
	if err != nil {
		return nil, fmt.Errorf("query %q: %w", schema.Quote(req.Query), err)
	}
	return vectors[0], nil
}

// Place is one place of a ranking.
type Place struct {
	ID    string
	Score float64
}

// RankSteps puts the candidates of the steps of a task, or of a search that has
// one, into the order in which Search would show them: tools, or the agents that
// they bring.
func RankSteps(steps [][]index.Candidate, rank schema.Rank, m *fusion.Model, known ranking.Known) []Place {
	return RankChosen(steps, &schema.Chosen{Rank: rank}, m, known)
}

// RankChosen is RankSteps where Search chose by itself what to rank.
func RankChosen(steps [][]index.Candidate, chosen *schema.Chosen, m *fusion.Model, known ranking.Known) []Place {
	lists := make([][]pick, len(steps))
	for i, candidates := range steps {
		ranked := ranking.Rank(candidates, m, known)
		if len(steps) == 1 {
			ranked = ranking.Experienced(ranked, m, known.Uses)
		}
		lists[i] = picksOf(ranked, chosen.Rank)
	}
	picks := lead(inTurns(lists), chosen)
	places := make([]Place, len(picks))
	for i, p := range picks {
		places[i] = Place{ID: p.ref.ID, Score: p.by.Score}
	}
	return places
}

// Used is what a table of usage says to queries, by their vectors. A nil table
// means that nothing was used.
func Used(table *schema.Usage) func(vector []float32) ranking.Uses {
	u := &usage{}
	if table != nil {
		u = usageOf(*table)
	}
	return func(vector []float32) ranking.Uses { return u.by(u.table.Model, vector) }
}
