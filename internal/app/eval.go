package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// folds is how many folds a data set without any of its own is cut into.
const folds = 5

// EvalConfig says what is measured and how.
type EvalConfig struct {
	Dir      string // of the data set
	Settings evaluation.Settings
	Config   config.Config // chooses the embedding model
	Cache    string        // folder in which vectors are kept for the next evaluation; empty is none
}

// EvalDeps are what an evaluation works with. Fit and Reference may be nil:
// then the weights of that name are refused, as is llm without an LLM.
type EvalDeps struct {
	// Fit learns for --weights learned.
	Fit evaluation.Fit
	// Reference ranks by the scoring and the weights that came with the set.
	Reference func(ctx context.Context, set *dataset.Set, s evaluation.Settings, queries []dataset.Query) ([][]evaluation.Ranked, error)
	// LLM fills documents and rewrites queries.
	LLM llm.Model
	// Progress is told how far each stage has come; nil is nobody.
	Progress func(stage string, done, total int)
}

// Evaluate measures the ranking of a data set with the code that serves, in
// this process and in a folder that is removed again. The same data and
// settings give the same result.
func Evaluate(ctx context.Context, cfg EvalConfig, deps EvalDeps) (*evaluation.Run, error) {
	e := &evaluator{EvalConfig: cfg, deps: deps}
	if err := e.open(); err != nil {
		return nil, fmt.Errorf("eval: %w", err)
	}
	rankings, err := e.rank(ctx)
	if err != nil {
		return nil, fmt.Errorf("eval: %w", err)
	}
	return e.judge(rankings), nil
}

// Samples returns the queries of a data set with the features of their
// candidates, as Evaluate with these settings would learn from them, and the
// folds, each the ids of the queries that it tests on.
func Samples(ctx context.Context, cfg EvalConfig, progress func(stage string, done, total int)) ([]evaluation.Sample, [][]string, error) {
	e := &evaluator{EvalConfig: cfg, deps: EvalDeps{Progress: progress}}
	samples, err := e.sampleAll(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("samples: %w", err)
	}
	parts, err := e.set.Folds(folds)
	return samples, parts, err
}

// evaluator carries one evaluation.
type evaluator struct {
	EvalConfig
	deps EvalDeps

	set       *dataset.Set
	queries   []dataset.Query
	judgments []*evaluation.Judgments // beside queries
	owners    map[string]string       // of the tools that name one
	unused    []fusion.Feature        // that --retrieval leaves out
	tools     int
	chosen    []schema.Rank // beside queries, where a search chose what to rank
	missing   int           // labels that name no tool of the set
	whole     int           // queries without steps, where steps are to be searched
	notes     []string
}

func (e *evaluator) open() (err error) {
	if err := e.Settings.Validate(); err != nil {
		return err
	}
	if err := e.refuse(); err != nil {
		return err
	}
	e.unused = unused(e.Settings.Retrieval)
	if e.set, err = dataset.Open(e.Dir); err != nil {
		return err
	}
	all, err := e.set.Queries()
	if err != nil {
		return err
	}
	if e.queries, err = ofSplit(all, e.Settings.Split); err != nil {
		return err
	}
	if err := e.judgeable(); err != nil {
		return err
	}
	return e.rewritten()
}

// refuse names the settings that this process has nothing for.
func (e *evaluator) refuse() error {
	s := &e.Settings
	switch {
	case s.Documents == evaluation.LLM && e.deps.LLM == nil:
		return errors.New("--documents llm needs a language model, and none is configured; rules and recorded need none")
	case s.Queries == evaluation.LLM && e.deps.LLM == nil:
		return errors.New("--queries llm needs a language model, and none is configured; raw and recorded need none")
	case s.Baseline != evaluation.Off:
		return nil
	case s.Weights == evaluation.Learned && e.deps.Fit == nil:
		return errors.New("--weights learned: nothing is there to learn with")
	case s.Weights == evaluation.Reference && e.deps.Reference == nil:
		return errors.New("--weights reference: nothing is there that scores with them")
	}
	return nil
}

// ofSplit returns the queries of a split.
func ofSplit(all []dataset.Query, split string) ([]dataset.Query, error) {
	if split == evaluation.All {
		return all, nil
	}
	var chosen []dataset.Query
	var known []string
	for _, q := range all {
		if q.Split == split {
			chosen = append(chosen, q)
		}
		if q.Split != "" && !slices.Contains(known, q.Split) {
			known = append(known, q.Split)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no query is of the split %q; there are %q", split, append(known, evaluation.All))
	}
	return chosen, nil
}

// judgeable judges the queries and leaves out those that ask for nothing.
func (e *evaluator) judgeable() error {
	owners, there := map[string]string{}, map[string]bool{}
	e.owners = owners
	for tool, err := range e.set.Tools() {
		if err != nil {
			return err
		}
		there[tool.ID] = true
		if tool.Agent != "" {
			owners[tool.ID] = tool.Agent
		}
	}
	if e.Settings.Rank != evaluation.Tools && len(owners) == 0 {
		return fmt.Errorf("--rank %s: no tool of the set names its agent", e.Settings.Rank)
	}
	all := e.queries
	e.queries = nil
	for _, q := range all {
		j := evaluation.JudgeTools(q.Labels)
		if e.Settings.Rank != evaluation.Tools {
			j = evaluation.JudgeAgents(q.Labels, owners)
		}
		if !j.Empty() {
			e.queries, e.judgments = append(e.queries, q), append(e.judgments, j)
		}
	}
	if n := len(all) - len(e.queries); n > 0 {
		e.note("%d queries have no relevant label and are left out", n)
	}
	if len(e.queries) == 0 {
		return errors.New("no query has a relevant label")
	}
	e.chosen = make([]schema.Rank, len(e.queries))
	e.countMissing(all, there)
	e.countWhole()
	return nil
}

// countMissing counts the labels for which nothing can be found: neither their tool nor
// an alternative to it is there.
func (e *evaluator) countMissing(all []dataset.Query, there map[string]bool) {
	queries := 0
	for _, q := range all {
		before := e.missing
		for _, l := range q.Labels {
			if l.Relevance > 0 && !there[l.ID] && !slices.ContainsFunc(l.Alternatives, func(id string) bool { return there[id] }) {
				e.missing++
			}
		}
		if e.missing > before {
			queries++
		}
	}
	if e.missing > 0 {
		e.note("%d labels of %d queries name tools that are not in the set, so that nothing can be found for them", e.missing, queries)
	}
}

// countWhole counts the queries that have no steps, where steps are to be searched.
func (e *evaluator) countWhole() {
	if e.Settings.Steps != evaluation.On || e.Settings.Baseline != evaluation.Off || e.Settings.Weights == evaluation.Reference {
		return
	}
	for _, q := range e.queries {
		if len(stepsToSearch(&q)) == 0 {
			e.whole++
		}
	}
	if e.whole > 0 {
		e.note("%d of %d queries have no steps and are searched as a whole", e.whole, len(e.queries))
	}
}

// rewritten checks that what is to be recorded is.
func (e *evaluator) rewritten() error {
	if e.Settings.Queries != evaluation.Recorded {
		return nil
	}
	for _, q := range e.queries {
		if q.Rewritten == nil {
			return fmt.Errorf("--queries recorded: query %s has no rewritten_query", q.ID)
		}
	}
	return nil
}

func (e *evaluator) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

func (e *evaluator) progress(stage string, done, total int) {
	if e.deps.Progress != nil {
		e.deps.Progress(stage, done, total)
	}
}

// rank returns the rankings of the queries, in their order.
func (e *evaluator) rank(ctx context.Context) (rankings [][]evaluation.Ranked, err error) {
	switch {
	case e.Settings.Baseline == evaluation.FullDocument:
		return e.fullDocument(ctx)
	case e.Settings.Weights == evaluation.Reference:
		for _, err := range e.set.Tools() {
			if err != nil {
				return nil, err
			}
			e.tools++
		}
		return e.deps.Reference(ctx, e.set, e.Settings, e.queries)
	}
	err = e.withRegistry(ctx, func(r *registry) (err error) {
		if e.Settings.Weights == evaluation.Learned {
			rankings, err = e.learned(ctx, r)
		} else {
			rankings, err = e.given(ctx, r)
		}
		if err == nil {
			rankings, err = e.rerank(ctx, r, rankings)
		}
		e.tellChosen()
		return errors.Join(err, e.tell(&r.fallbacks))
	})
	return rankings, err
}

func (e *evaluator) judge(rankings [][]evaluation.Ranked) *evaluation.Run {
	run := &evaluation.Run{Notes: e.notes}
	for i, ranking := range rankings {
		run.PerQuery = append(run.PerQuery, evaluation.Judge(e.queries[i].ID, e.judgments[i], ranking))
	}
	run.Result = evaluation.Result{
		Dataset: e.set.Name, Tools: e.tools, Queries: len(e.queries),
		Settings: e.Settings, Metrics: evaluation.MeanOf(run.PerQuery), Missing: e.missing, Whole: e.whole,
	}
	return run
}
