package evaluator

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

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/lab/paper"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/search"
)

// maxSample bounds the candidates of a sample, for the memory of large
// registries: all tools of a set of that size, the best by the base model of a
// larger one.
const maxSample = 4096

// given ranks by a model that is not learned here.
func (e *evaluator) given(ctx context.Context) ([][]relevance.Ranked, error) {
	model, err := e.baseModel()
	if err != nil {
		return nil, err
	}
	return each(ctx, e, func(i int) ([]relevance.Ranked, error) {
		found, err := e.retrieve(ctx, &e.queries[i], &model, relevance.MaxRanking)
		if err != nil {
			return nil, err
		}
		first := ""
		if found.Chosen != nil {
			e.chosen[i] = found.Chosen.Rank
			if found.Chosen.Rank == schema.RankProviders {
				first = found.Chosen.Provider
			} else {
				e.judgments[i] = relevance.JudgeTools(e.queries[i].Labels)
			}
		}
		signals := ranking.Signals{Suppliers: e.suppliers, Providers: found.Rank == schema.RankProviders}
		return order(candidatesOf(found), found.Rank, first, &model, signals, e.reorder(ctx, i, found.Steps[0], &model, nil)), nil
	})
}

// crossValidate ranks every sample by a model that was learned without its fold.
func (e *evaluator) crossValidate(ctx context.Context, samples []Sample) ([][]relevance.Ranked, error) {
	parts, err := e.set.Folds(folds)
	if err != nil {
		return nil, err
	}
	base, err := e.baseModel()
	if err != nil {
		return nil, err
	}
	rankings := make([][]relevance.Ranked, len(samples))
	for n, part := range parts {
		train, test := divide(samples, part)
		if len(test) == 0 {
			continue
		}
		if len(train) == 0 {
			return nil, errors.New("--weights learned: a fold leaves no query to learn from")
		}
		fitted, err := e.Fit(ctx, base, train, e.Settings.Usage == On)
		if err != nil {
			return nil, fmt.Errorf("fold %d: %w", n, err)
		}
		e.progress("learning", n+1, len(parts))
		used := usageOf(fitted.Usage)
		for _, i := range test {
			rankings[i] = e.order(&samples[i], &fitted.Model, used, e.reorder(ctx, i, e.steps[i], &fitted.Model, fitted.Usage))
		}
	}
	return rankings, nil
}

// divide returns the samples that a fold learns from and the positions of the samples that it
// tests on.
func divide(samples []Sample, fold []string) (train []Sample, test []int) {
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

// samples returns the queries with the features of their candidates; of several
// steps each candidate as the step has it that it scores best in.
func (e *evaluator) samples(ctx context.Context) ([]Sample, error) {
	model, err := e.baseModel()
	if err != nil {
		return nil, err
	}
	e.steps = make([]search.Step, len(e.queries))
	return each(ctx, e, func(i int) (Sample, error) {
		s := Sample{Query: e.queries[i], Suppliers: e.suppliers}
		found, err := e.retrieve(ctx, &e.queries[i], &model, min(e.size, maxSample))
		if err != nil {
			return s, err
		}
		e.steps[i] = found.Steps[0]
		steps := candidatesOf(found)
		if s.Candidates = steps[0]; len(steps) > 1 {
			s.Candidates, s.Steps = best(slices.Concat(steps...), &model), steps
		}
		for _, c := range s.Candidates {
			gain := 0.0
			switch {
			case e.Settings.Rank == Providers && c.Kind == schema.KindTool: // a tool is worth its owner
				gain = e.judgments[i].Gain(c.Provider)
			case e.Settings.Rank == Providers || c.Kind == schema.KindTool:
				gain = e.judgments[i].Gain(c.ID)
			}
			s.Relevance = append(s.Relevance, gain)
		}
		if e.Settings.Retrieval != Lexical {
			s.Vector = found.Vector
		}
		return s, nil
	})
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

// retrieve returns the candidates that serving would rank for a query.
func (e *evaluator) retrieve(ctx context.Context, q *dataset.Query, m *fusion.Model, n int) (search.Retrieval, error) {
	req := schema.SearchRequest{Query: q.Text, Rank: schema.Rank(e.Settings.Rank), Rerank: schema.Rerank(e.Settings.Rerank), Arguments: q.Arguments}
	if e.Settings.Steps == On {
		req.Steps = stepsToSearch(q)
	}
	switch {
	case len(req.Steps) > 0:
	case e.Settings.Queries == Recorded:
		recordedRewrite(q.Rewritten).Into(&req)
	case e.Settings.Queries == LLM:
		if err := e.rewriter.rewrite(ctx, &req); err != nil {
			return search.Retrieval{}, err
		}
	}
	found, err := e.query.Retrieve(ctx, identity.DefaultTenant, req, m, n)
	for _, step := range found.Steps {
		for j := range step.Candidates {
			c := &step.Candidates[j]
			for _, f := range e.unused {
				c.Features[f] = 0
			}
			c.BestArg = nil // only an explanation shows it
			if len(q.Arguments) == 0 {
				c.Matches = nil // no penalty for arguments that only a rewriting names
			}
			if e.Settings.Retrieval == Lexical {
				c.Matches, c.Vector = nil, nil // cosines and their vector
			}
			if j >= reordered {
				c.Vector = nil // for the memory
			}
		}
	}
	return found, err
}

// candidatesOf returns the candidates of each step.
func candidatesOf(found search.Retrieval) [][]index.Candidate {
	steps := make([][]index.Candidate, len(found.Steps))
	for i, step := range found.Steps {
		steps[i] = step.Candidates
	}
	return steps
}

// stepsToSearch returns the steps of a query that are not blank.
func stepsToSearch(q *dataset.Query) []string {
	return slices.DeleteFunc(slices.Clone(q.Steps), func(step string) bool { return strings.TrimSpace(step) == "" })
}

// best returns each candidate once, with the features that the model scores highest, best
// first.
func best(all []index.Candidate, m *fusion.Model) []index.Candidate {
	type scored struct {
		index.Candidate
		score float64
	}
	list := make([]scored, len(all))
	for i, c := range all {
		list[i] = scored{Candidate: c}
		list[i].score = m.Linear(&c.Features)
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

// order ranks a sample as a search would show it.
func (e *evaluator) order(s *Sample, m *fusion.Model, used func([]float32) ranking.QueryUsage, reorder reordering) []relevance.Ranked {
	signals := ranking.Signals{Usage: used(s.Vector), Suppliers: s.Suppliers, Providers: e.Settings.Rank == Providers}
	steps := s.Steps
	if len(steps) == 0 {
		steps = [][]index.Candidate{s.Candidates}
	}
	return order(steps, schema.Rank(e.Settings.Rank), "", m, signals, reorder)
}

// order ranks the candidates of each step as a search would show them.
func order(steps [][]index.Candidate, rank schema.Rank, first string, m *fusion.Model, signals ranking.Signals, reorder reordering) []relevance.Ranked {
	rankings := make([][]ranking.Ranked, len(steps))
	for i, candidates := range steps {
		rankings[i] = ranking.Rank(candidates, m, signals)
	}
	if len(rankings) == 1 {
		if reorder != nil {
			rankings[0] = reorder(rankings[0], signals)
		}
		rankings[0] = ranking.ByClicks(rankings[0], m, signals.Usage)
	}
	hits := ranking.Hits(rankings, rank, first)
	out := make([]relevance.Ranked, min(len(hits), relevance.MaxRanking))
	for i := range out {
		out[i] = relevance.Ranked{ID: hits[i].ID, Score: hits[i].By.Score}
	}
	return out
}

// usageOf returns a function from the vector of a query to its usage in a table. A nil table
// is empty.
func usageOf(table *schema.Usage) func(vector []float32) ranking.QueryUsage {
	if table == nil {
		table = &schema.Usage{}
	}
	usage := ranking.NewUsage(*table)
	return func(vector []float32) ranking.QueryUsage { return usage.For(table.Model, vector) }
}

// baseModel returns the model of --weights; learning begins with the built-in
// one.
func (e *evaluator) baseModel() (fusion.Model, error) {
	w := fusion.BuiltinFor(e.Settings.Model)
	if s := e.Settings.Weights; s != Builtin && s != Learned {
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
	for _, f := range e.unused {
		m.Features[f] = 0
	}
	return m, nil
}

// fullDocument ranks by plain BM25 over the raw documents as JSON text: the
// baseline of arXiv 2602.05366.
func (e *evaluator) fullDocument(ctx context.Context) ([][]relevance.Ranked, error) {
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
	corpus := paper.NewCorpus(texts)
	return each(ctx, e, func(i int) ([]relevance.Ranked, error) {
		scores := corpus.Scores(e.queries[i].Text)
		ranking := make([]relevance.Ranked, len(ids))
		for j, id := range ids {
			ranking[j] = relevance.Ranked{ID: id, Score: scores[j]}
		}
		relevance.Sort(ranking)
		return ranking[:min(len(ranking), relevance.MaxRanking)], nil
	})
}

// rankNote describes how often --rank auto chose as the labels ask: providers if all relevant
// tools have one owner, else tools.
func rankNote(queries []dataset.Query, owners map[string]string, chosen []schema.Rank) string {
	var providers, right, single, found int
	for i, rank := range chosen {
		one := len(owning(&queries[i], owners)) == 1
		if one {
			single++
		}
		if rank == schema.RankProviders {
			providers++
		}
		if one == (rank == schema.RankProviders) {
			right++
			if one {
				found++
			}
		}
	}
	n := len(queries)
	return fmt.Sprintf("of %d queries %d are given providers and %d tools, which is right for %.1f %%: for %d of %d that one owner answers, and %d of %d others",
		n, providers, n-providers, 100*float64(right)/float64(n), found, single, right-found, n-single)
}
