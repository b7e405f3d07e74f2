// Package evaluator runs the experiments of the command line on a data set, with
// the code that serves: evaluation, training, tuning, simulated users, and the
// distillation of an embedding model. Nothing that serves imports it.
package evaluator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/lab/dataset"
	"github.com/toolstream/toolstream/internal/lab/evaluation"
	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/relevance"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/query/rewriting"
)

// folds is how many folds a data set without any of its own is cut into.
const folds = 5

// EvalConfig says what is measured and how.
type EvalConfig struct {
	Dir      string // of the data set
	Settings evaluation.Settings
	Config   config.Config // chooses the embedding model
	Cache    string        // folder of vectors for the next evaluation; empty: not stored
}

// EvalDeps are what an evaluation works with.
type EvalDeps struct {
	Fit      evaluation.Fit                      // learns for --weights learned; nil: as the trainer does
	LLM      llm.Model                           // fills documents and rewrites queries; nil: both are refused
	Progress func(stage string, done, total int) // is told how far each stage has come; may be nil
}

// Evaluate measures the ranking of a data set with the code that serves, in
// this process and in a folder that is removed again. The same data and
// settings give the same result.
func Evaluate(ctx context.Context, cfg EvalConfig, deps EvalDeps) (*evaluation.Run, error) {
	e := &evaluator{EvalConfig: cfg, EvalDeps: deps}
	if err := e.open(); err != nil {
		return nil, err
	}
	rankings, err := e.rank(ctx)
	if err != nil {
		return nil, err
	}
	return e.judge(rankings), nil
}

// evaluator carries one evaluation.
type evaluator struct {
	EvalConfig
	EvalDeps

	set       *dataset.Set
	queries   []dataset.Query
	judgments []*relevance.Judgments // beside queries
	owners    map[string]string      // of the tools that name one
	unused    []fusion.Feature       // that --retrieval leaves out
	tools     int
	chosen    []schema.Rank // beside queries, where a search chose what to rank
	single    []float64     // beside queries: the probability that one owner answers it, where that decided how to rerank
	missing   int           // labels that name no tool of the set
	whole     int           // queries without steps, where steps are to be searched
	notes     []string

	// Set by openIndex.
	dir       string
	closers   []io.Closer
	encoder   *embedder.Encoder
	index     *flat.Index
	query     *query.Service
	scorer    query.Scorer
	size      int                         // entities
	indexed   []events.Change             // what the index was filled with
	steps     []query.Step                // beside queries: what samples were made of
	suppliers map[string][]index.Supplier // by tool
	rewriter  *rewriting.Rewriter         // of --queries llm

	mu           sync.Mutex // guards what follows
	unrewritten  int        // queries that could not be rewritten
	firstFailure error      // of them
	unranked     error      // why queries could not be reranked
}

func (e *evaluator) open() (err error) {
	if err := e.Settings.Validate(); err != nil {
		return err
	}
	if e.LLM == nil {
		switch evaluation.LLM {
		case e.Settings.Documents:
			return errors.New("--documents llm needs a language model, and none is configured; rules and recorded need none")
		case e.Settings.Queries:
			return errors.New("--queries llm needs a language model, and none is configured; raw and recorded need none")
		}
	}
	if e.Fit == nil {
		e.Fit = evaluation.Learn(0)
	}
	kind := map[string]string{evaluation.Lexical: ".dense.", evaluation.Dense: ".lexical."}[e.Settings.Retrieval]
	for f := range fusion.FeatureCount {
		if kind != "" && strings.Contains(f.String(), kind) {
			e.unused = append(e.unused, f)
		}
	}
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
	if n, _ := strconv.Atoi(e.Settings.Tasks); n > 1 { // one of Choices
		e.queries = tasks(e.queries, n)
	}
	if err := e.judgeable(); err != nil {
		return err
	}
	for _, q := range e.queries {
		if e.Settings.Queries == evaluation.Recorded && q.Rewritten == nil {
			return fmt.Errorf("--queries recorded: query %s has no rewritten_query", q.ID)
		}
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
	there := map[string]bool{}
	e.owners = map[string]string{}
	for tool, err := range e.set.Tools() {
		if err != nil {
			return err
		}
		there[tool.ID] = true
		if tool.Provider != "" {
			e.owners[tool.ID] = tool.Provider
		}
	}
	if e.Settings.Rank != evaluation.Tools && len(e.owners) == 0 {
		return fmt.Errorf("--rank %s: no tool of the set names its provider", e.Settings.Rank)
	}
	all := e.queries
	e.queries = nil
	for _, q := range all {
		j := relevance.JudgeTools(q.Labels)
		if e.Settings.Rank != evaluation.Tools {
			j = relevance.JudgeProviders(q.Labels, e.owners)
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
	e.chosen, e.single = make([]schema.Rank, len(e.queries)), make([]float64, len(e.queries))
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

func (e *evaluator) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

func (e *evaluator) progress(stage string, done, total int) {
	if e.Progress != nil {
		e.Progress(stage, done, total)
	}
}

// rank returns the rankings of the queries, in their order.
func (e *evaluator) rank(ctx context.Context) (rankings [][]relevance.Ranked, err error) {
	switch {
	case e.Settings.Baseline == evaluation.FullDocument:
		return e.fullDocument(ctx)
	case e.Settings.Weights == evaluation.Reference:
		return e.reference(ctx)
	}
	err = e.withIndex(ctx, func() (err error) {
		if e.Settings.Weights == evaluation.Learned {
			var samples []evaluation.Sample
			if samples, err = e.samples(ctx); err == nil {
				rankings, err = e.crossValidate(ctx, samples)
			}
		} else {
			rankings, err = e.given(ctx)
		}
		e.noteReranked()
		if e.Settings.Rank == evaluation.Auto {
			e.noteChosen()
		}
		return errors.Join(err, e.unranked, e.noteUnrewritten())
	})
	return rankings, err
}

func (e *evaluator) judge(rankings [][]relevance.Ranked) *evaluation.Run {
	run := &evaluation.Run{Notes: e.notes}
	for i, ranking := range rankings {
		run.PerQuery = append(run.PerQuery, relevance.Judge(e.queries[i].ID, e.judgments[i], ranking))
	}
	run.Result = evaluation.Result{
		Dataset: e.set.Name, Tools: e.tools, Queries: len(e.queries),
		Settings: e.Settings, Metrics: relevance.MeanOf(run.PerQuery), Missing: e.missing, Whole: e.whole,
	}
	return run
}
