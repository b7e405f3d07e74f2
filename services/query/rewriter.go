package query

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/rewriting"
)

// Rewriter lets a language model say what a query is after.
type Rewriter interface {
	// Rewrite waits no longer than ctx lasts. Any error means that the query has
	// to do as it is.
	Rewrite(ctx context.Context, q rewriting.Query) (rewriting.Rewritten, error)
	// Failed returns the answers of a tenant that could not be used.
	Failed(tenant string) []rewriting.Failed
}

// find plans the search and returns its candidates.
func (s *Service) find(ctx context.Context, sr *search) ([]index.Candidate, error) {
	if s.cfg.Speculative && !sr.planned() {
		sr.plan = rewrite(sr.req)
		if s.rewrites(sr) {
			budget, cancel := budgeted(ctx, s.cfg.RewriteBudget)
			defer cancel()
			return s.speculate(ctx, budget, sr)
		}
	}
	s.settle(ctx, sr)
	return s.look(ctx, sr)
}

// planned reports whether it is settled what is searched for.
func (sr *search) planned() bool { return sr.plan.rewrite != "" }

// settle plans the search, with what a language model makes of the query in
// time.
func (s *Service) settle(ctx context.Context, sr *search) {
	if sr.planned() {
		return
	}
	sr.plan = rewrite(sr.req)
	if s.rewrites(sr) {
		budget, cancel := budgeted(ctx, s.cfg.RewriteBudget)
		defer cancel()
		s.rewritten(budget, sr)
	}
}

// rewrites reports whether a language model is asked what the query is after.
func (s *Service) rewrites(sr *search) bool {
	return s.deps.Rewriter != nil && sr.plan.rewrite != schema.RewriteGiven && sr.req.Rewrite != schema.RewriteOff
}

// budgeted bounds how long a search waits for what may help it: never so long
// that the other half of its time would not be left for the search itself.
func budgeted(ctx context.Context, budget time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		budget = min(budget, time.Until(deadline)/2)
	}
	return context.WithTimeout(ctx, budget)
}

// rewritten puts into the plan what the query is after. Where nobody says so in
// time, the query's own clauses stay.
func (s *Service) rewritten(ctx context.Context, sr *search) (ok bool) {
	ctx, st := s.stage(ctx, "rewrite")
	q := rewriting.Query{Tenant: sr.tenant, Text: sr.req.Query, Filters: sr.req.Filters}
	q.Filters.Kinds = nil // a query for agents is told in the words of tools too
	r, err := s.deps.Rewriter.Rewrite(ctx, q)
	st.end(err)
	if err != nil {
		sr.plan.rewrite = schema.RewriteFallback
		return false
	}
	asked := sr.req
	r.Into(&asked)
	sr.plan = rewrite(asked)
	sr.plan.rewrite = schema.RewriteLLM
	if r.Cached {
		sr.plan.rewrite = schema.RewriteCache
	}
	return true
}

// look embeds the plan and returns the candidates.
func (s *Service) look(ctx context.Context, sr *search) ([]index.Candidate, error) {
	return s.enough(ctx, sr, sr.plan.probe(s.embed(ctx, sr, sr.plan.texts())))
}

// attempt is one of two searches for the same query.
type attempt struct {
	search
	found []index.Candidate
	err   error
}

func (s *Service) attempt(ctx context.Context, a attempt) attempt {
	a.found, a.err = s.look(ctx, &a.search)
	return a
}

// speculate searches with the query as it is while it is being rewritten, and
// once more with what that brings. The rewritten search wins if all of it is
// there within the budget; else the other one, which has been waiting, answers.
// So what a search waits for is the longer of the two, never both.
func (s *Service) speculate(ctx, budget context.Context, sr *search) ([]index.Candidate, error) {
	sr.degraded = slices.Clip(sr.degraded) // the two add to it apart
	better := make(chan attempt, 1)
	go func(a attempt) {
		defer close(better)
		if !s.rewritten(budget, &a.search) {
			return
		}
		if a = s.attempt(budget, a); a.err == nil && budget.Err() == nil {
			better <- a
		}
	}(attempt{search: *sr})
	sr.plan.rewrite = schema.RewriteFallback
	raw := s.attempt(ctx, attempt{search: *sr})
	select {
	case <-budget.Done():
	case a, ok := <-better:
		if ok {
			raw = a
		}
	}
	*sr = raw.search
	return raw.found, raw.err
}

type failedOutput struct{ Body failedRewrites }

type failedRewrites struct {
	Failed []rewriting.Failed `json:"failed" doc:"Newest first; those that this process keeps in its memory."`
}

func rewriteRoutes(api huma.API, s *Service) {
	huma.Register(api, huma.Operation{
		OperationID: "list-failed-rewrites", Method: http.MethodGet, Path: "/v1/rewrites/failed",
		Summary: "Show answers of the language model that could not be used as rewrites", Tags: []string{"search"},
	}, func(ctx context.Context, _ *struct{}) (*failedOutput, error) {
		out := failedRewrites{Failed: []rewriting.Failed{}}
		if s.deps.Rewriter != nil {
			out.Failed = s.deps.Rewriter.Failed(tenant.From(ctx))
		}
		return &failedOutput{out}, nil
	})
}
