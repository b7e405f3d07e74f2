package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sourcegraph/conc/iter"

	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/evaluation/bm25"
	"github.com/toolstream/toolstream/internal/evaluation/paper"
	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query"
)

// maxSample bounds the candidates of a sample, for the memory of large
// registries: all tools of a set of that size, the best by the base model of a
// larger one.
const maxSample = 4096

// given ranks by a model that is there beforehand.
func (e *evaluator) given(ctx context.Context, r *registry) ([][]evaluation.Ranked, error) {
	model, err := e.baseModel()
	if err != nil {
		return nil, err
	}
	return each(ctx, e, func(i int) ([]evaluation.Ranked, error) {
		chosen, err := e.choose(ctx, r, i, &model)
		if err != nil {
			return nil, err
		}
		steps, err := e.candidates(ctx, r, &e.queries[i], chosen.Rank, &model, evaluation.MaxRanking)
		return placed(query.RankChosen(steps, chosen, &model, ranking.Known{Suppliers: r.suppliersOf})), err
	})
}

// learned ranks every query by what was learned from the other folds.
func (e *evaluator) learned(ctx context.Context, r *registry) ([][]evaluation.Ranked, error) {
	samples, err := e.samples(ctx, r)
	if err != nil {
		return nil, err
	}
	return e.crossValidate(ctx, samples)
}

func (e *evaluator) fitOptions() evaluation.FitOptions {
	return evaluation.FitOptions{Usage: e.Settings.Usage == evaluation.On, Rank: schema.Rank(e.Settings.Rank)}
}

// crossValidate ranks every sample by what was learned without its fold.
func (e *evaluator) crossValidate(ctx context.Context, samples []evaluation.Sample) ([][]evaluation.Ranked, error) {
	parts, err := e.set.Folds(folds)
	if err != nil {
		return nil, err
	}
	base, err := e.baseModel()
	if err != nil {
		return nil, err
	}
	rankings := make([][]evaluation.Ranked, len(samples))
	for n, part := range parts {
		train, test := divide(samples, part)
		if len(test) == 0 {
			continue
		}
		if len(train) == 0 {
			return nil, errors.New("--weights learned: a fold leaves no query to learn from")
		}
		fitted, err := e.deps.Fit(ctx, base, train, e.fitOptions())
		if err != nil {
			return nil, fmt.Errorf("fold %d: %w", n, err)
		}
		e.progress("learning", n+1, len(parts))
		used := query.Used(fitted.Usage)
		for _, i := range test {
			s := &samples[i]
			rankings[i] = e.order(stepsOf(s), &fitted.Model, ranking.Known{Uses: used(s.Vector), Suppliers: s.Suppliers})
		}
	}
	return rankings, nil
}

// divide returns the samples that a fold learns from and the positions of
// those that it tests on.
func divide(samples []evaluation.Sample, fold []string) (train []evaluation.Sample, test []int) {
	tested := make(map[string]bool, len(fold))
	for _, id := range fold {
		tested[id] = true
	}
	for i := range samples {
		if tested[samples[i].Query.ID] {
			test = append(test, i)
		} else {
			train = append(train, samples[i])
		}
	}
	return train, test
}

// stepsOf returns the candidates of each step of a query, all of them where it is
// searched as a whole.
func stepsOf(s *evaluation.Sample) [][]index.Candidate {
	if len(s.Steps) > 0 {
		return s.Steps
	}
	return [][]index.Candidate{s.Candidates}
}

// samples returns the queries with the features of their candidates; of several
// steps each candidate as the step has it that it scores best in.
func (e *evaluator) samples(ctx context.Context, r *registry) ([]evaluation.Sample, error) {
	model, err := e.baseModel()
	if err != nil {
		return nil, err
	}
	return each(ctx, e, func(i int) (evaluation.Sample, error) {
		s := evaluation.Sample{Query: e.queries[i], Suppliers: r.suppliersOf}
		steps, err := e.candidates(ctx, r, &e.queries[i], schema.Rank(e.Settings.Rank), &model, min(r.size, maxSample))
		if err != nil {
			return s, err
		}
		if s.Candidates = steps[0]; len(steps) > 1 {
			s.Candidates, s.Steps = best(slices.Concat(steps...), &model), steps
		}
		for _, c := range s.Candidates {
			s.Relevance = append(s.Relevance, e.gain(i, &c))
		}
		if e.Settings.Retrieval != evaluation.Lexical {
			s.Vector, err = r.query.Vector(ctx, schema.SearchRequest{Query: s.Query.Text})
		}
		return s, err
	})
}

// gain is what a candidate is worth for query i; a tool is worth its owner
// where owners are ranked.
func (e *evaluator) gain(i int, c *index.Candidate) float64 {
	switch {
	case e.Settings.Rank == evaluation.Agents && c.Kind == schema.KindTool:
		return e.judgments[i].Gain(c.Agent)
	case c.Kind == schema.KindAgent && e.Settings.Rank != evaluation.Agents:
		return 0
	}
	return e.judgments[i].Gain(c.ID)
}

// each calls fn for every query, as many at once as there are processors, and
// returns the answers in order, or the first error.
func each[T any](ctx context.Context, e *evaluator, fn func(i int) (T, error)) ([]T, error) {
	out := make([]T, len(e.queries))
	errs := make([]error, len(e.queries))
	var done atomic.Int64
	iter.ForEachIdx(e.queries, func(i int, q *dataset.Query) {
		if errs[i] = ctx.Err(); errs[i] != nil {
			return
		}
		if out[i], errs[i] = fn(i); errs[i] != nil {
			errs[i] = fmt.Errorf("query %s: %w", q.ID, errs[i])
		}
		e.progress("searching", int(done.Add(1)), len(e.queries))
	})
	if at := slices.IndexFunc(errs, func(err error) bool { return err != nil }); at >= 0 {
		return nil, errs[at]
	}
	return out, nil
}

// candidates returns what serving would rank for a query, or for each of its
// steps.
func (e *evaluator) candidates(ctx context.Context, r *registry, q *dataset.Query, rank schema.Rank, m *fusion.Model, n int) ([][]index.Candidate, error) {
	requests, err := e.requests(ctx, r, q, rank)
	if err != nil {
		return nil, err
	}
	steps := make([][]index.Candidate, len(requests))
	for i, req := range requests {
		if steps[i], err = r.query.Candidates(ctx, tenant.Default, req, m, n); err != nil {
			return nil, err
		}
		for j := range steps[i] {
			c := &steps[i][j]
			e.mask(&c.Features)
			c.BestArg = nil // only an explanation says it
			if e.Settings.Retrieval == evaluation.Lexical {
				c.Matches = nil // cosines
			}
		}
	}
	return steps, nil
}

// requests are what a user would send for a query, or what a search would make
// of it.
func (e *evaluator) requests(ctx context.Context, r *registry, q *dataset.Query, rank schema.Rank) ([]schema.SearchRequest, error) {
	if e.Settings.Steps == evaluation.On {
		var steps []schema.SearchRequest
		for _, step := range stepsToSearch(q) {
			steps = append(steps, schema.SearchRequest{Query: step, Rank: rank})
		}
		if len(steps) > 0 {
			return steps, nil
		}
	}
	req := schema.SearchRequest{Query: q.Text, Rank: rank}
	switch e.Settings.Queries {
	case evaluation.Recorded:
		recorded(q.Rewritten).Into(&req)
	case evaluation.LLM:
		return []schema.SearchRequest{req}, r.rewrite(ctx, &req)
	}
	return []schema.SearchRequest{req}, nil
}

// stepsToSearch returns the steps of a query that say something.
func stepsToSearch(q *dataset.Query) []string {
	return slices.DeleteFunc(slices.Clone(q.Steps), func(step string) bool { return strings.TrimSpace(step) == "" })
}

// best returns each candidate once, where the model scores it highest, best
// first.
func best(all []index.Candidate, m *fusion.Model) []index.Candidate {
	type scored struct {
		index.Candidate
		score float64
	}
	list := make([]scored, len(all))
	for i, c := range all {
		list[i] = scored{Candidate: c}
		list[i].score, _ = m.Score(&c.Features, c.Matches)
	}
	slices.SortStableFunc(list, func(a, b scored) int { return fusion.Order(a.score, a.ID, b.score, b.ID) })
	seen := make(map[schema.Ref]bool, len(all))
	var out []index.Candidate
	for _, c := range list {
		if !seen[c.Ref] {
			seen[c.Ref] = true
			out = append(out, c.Candidate)
		}
	}
	return out
}

// mask zeroes the features that --retrieval leaves out.
func (e *evaluator) mask(f *fusion.Features) {
	for _, i := range e.unused {
		f[i] = 0
	}
}

// unused returns the features that a way of retrieval leaves out.
func unused(retrieval string) (out []fusion.Feature) {
	kind := map[string]string{evaluation.Lexical: ".dense.", evaluation.Dense: ".lexical."}[retrieval]
	for f := range fusion.FeatureCount {
		if kind != "" && strings.Contains(f.String(), kind) {
			out = append(out, f)
		}
	}
	return out
}

// order ranks the candidates of the steps as a search would show them.
func (e *evaluator) order(steps [][]index.Candidate, m *fusion.Model, known ranking.Known) []evaluation.Ranked {
	return placed(query.RankSteps(steps, schema.Rank(e.Settings.Rank), m, known))
}

// placed returns places as they are judged.
func placed(places []query.Place) []evaluation.Ranked {
	ranking := make([]evaluation.Ranked, min(len(places), evaluation.MaxRanking))
	for i := range ranking {
		ranking[i] = evaluation.Ranked{ID: places[i].ID, Score: places[i].Score}
	}
	return ranking
}

// baseModel returns the model of --weights; learning begins with the built-in
// one.
func (e *evaluator) baseModel() (fusion.Model, error) {
	w := fusion.BuiltinFor(e.Settings.Model)
	if s := e.Settings.Weights; s != evaluation.Builtin && s != evaluation.Learned {
		raw, err := os.ReadFile(s)
		if err != nil {
			return fusion.Model{}, fmt.Errorf("--weights: %w", err)
		}
		w = schema.Weights{}
		if err := json.Unmarshal(raw, &w); err != nil {
			return fusion.Model{}, fmt.Errorf("--weights: %s: %w", s, err)
		}
	}
	m, err := fusion.ModelOf(w)
	if err != nil {
		return fusion.Model{}, fmt.Errorf("--weights: %w", err)
	}
	e.mask(&m.Features)
	return m, nil
}

// fullDocument ranks by plain BM25 over the raw documents as JSON text: the
// baseline of arXiv 2602.05366.
func (e *evaluator) fullDocument(ctx context.Context) ([][]evaluation.Ranked, error) {
	var ids, texts []string
	for tool, err := range e.set.Tools() {
		if err != nil {
			return nil, err
		}
		text, err := paper.JSONText(tool.Documentation)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", tool.ID, err)
		}
		ids, texts = append(ids, tool.ID), append(texts, text)
	}
	e.tools = len(ids)
	corpus := bm25.New(texts)
	return each(ctx, e, func(i int) ([]evaluation.Ranked, error) {
		scores := corpus.Scores(e.queries[i].Text)
		ranking := make([]evaluation.Ranked, len(ids))
		for j, id := range ids {
			ranking[j] = evaluation.Ranked{ID: id, Score: scores[j]}
		}
		evaluation.Sort(ranking)
		return ranking[:min(len(ranking), evaluation.MaxRanking)], nil
	})
}
