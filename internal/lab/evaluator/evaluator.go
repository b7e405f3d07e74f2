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

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/engine/flat"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/query/search"
)

// folds is the number of folds for a data set without its own.
const folds = 5

// EvalConfig configures an evaluation.
type EvalConfig struct {
	Dir      string // of the data set
	Settings Settings
	Config   config.Config // chooses the embedding model
	Cache    string        // folder of vectors for the next evaluation; empty: not stored
}

// EvalDeps are the models and the callback of an evaluation.
type EvalDeps struct {
	Fit      Fit                                 // learns for --weights learned; nil: as the trainer does
	LLM      llm.Model                           // fills documents and rewrites queries; nil: both are refused
	Progress func(stage string, done, total int) // reports the progress of each stage; may be nil
}

// Evaluate measures the ranking of a data set with the code that serves, in
// this process and in a folder that is removed again. The same data and
// settings give the same result.
func Evaluate(ctx context.Context, cfg EvalConfig, deps EvalDeps) (*Run, error) {
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

// evaluator is the state of an evaluation.
type evaluator struct {
	EvalConfig
	EvalDeps

	set       *dataset.Set
	queries   []dataset.Query
	judgments []*relevance.Judgments // one per query
	owners    map[string]string      // of the tools that name an owner
	unused    []fusion.Feature       // that --retrieval leaves out
	tools     int
	chosen    []schema.Rank // one per query, if a search chose what to rank
	single    []float64     // one per query: the probability that one owner answers it, if that decided how to rerank
	missing   int           // labels that name no tool of the set
	whole     int           // queries without steps, if steps are to be searched
	notes     []string

	// Set by openIndex.
	dir       string
	closers   []io.Closer
	encoder   *embedder.Encoder
	index     *flat.Index
	query     *query.Service
	scorer    search.Scorer
	size      int               // entities
	indexed   []events.Change   // the content of the index
	steps     []search.Step     // one per query: the source of its sample
	suppliers ranking.Suppliers // looked up once for all queries
	rewriter  queryRewriter     // of --queries llm

	mu       sync.Mutex
	unranked error // why queries could not be reranked; mu guards it
}

func (e *evaluator) open() (err error) {
	if err := e.Settings.Validate(); err != nil {
		return err
	}
	if e.LLM == nil {
		switch LLM {
		case e.Settings.Documents:
			return errors.New("--documents llm needs a language model, and none is configured; rules and recorded need none")
		case e.Settings.Queries:
			return errors.New("--queries llm needs a language model, and none is configured; raw and recorded need none")
		}
	}
	if e.Fit == nil {
		e.Fit = Learn(0)
	}
	kind := map[string]string{Lexical: ".dense.", Dense: ".lexical."}[e.Settings.Retrieval]
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
		if e.Settings.Queries == Recorded && q.Rewritten == nil {
			return fmt.Errorf("--queries recorded: query %s has no rewritten_query", q.ID)
		}
	}
	return nil
}

// ofSplit returns the queries of a split.
func ofSplit(all []dataset.Query, split string) ([]dataset.Query, error) {
	if split == All {
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
		return nil, fmt.Errorf("no query is of the split %q; there are %q", split, append(known, All))
	}
	return chosen, nil
}

// judgeable judges the queries and drops any query that asks for nothing.
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
	if e.Settings.Rank != Tools && len(e.owners) == 0 {
		return fmt.Errorf("--rank %s: no tool of the set names its provider", e.Settings.Rank)
	}
	all := e.queries
	e.queries = nil
	for _, q := range all {
		j := relevance.JudgeTools(q.Labels)
		if e.Settings.Rank != Tools {
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

	// A label is missing if neither its tool nor an alternative exists.
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

	if e.Settings.Steps == On && e.Settings.Baseline == Off && e.Settings.Weights != Reference {
		for _, q := range e.queries {
			if len(stepsToSearch(&q)) == 0 {
				e.whole++
			}
		}
		if e.whole > 0 {
			e.note("%d of %d queries have no steps and are searched as a whole", e.whole, len(e.queries))
		}
	}
	return nil
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
	case e.Settings.Baseline == FullDocument:
		return e.fullDocument(ctx)
	case e.Settings.Weights == Reference:
		return e.reference(ctx)
	}
	err = e.withIndex(ctx, func() (err error) {
		if e.Settings.Weights == Learned {
			var samples []Sample
			if samples, err = e.samples(ctx); err == nil {
				rankings, err = e.crossValidate(ctx, samples)
			}
		} else {
			rankings, err = e.given(ctx)
		}
		if e.Settings.Rerank == Auto {
			right := 0 // queries for which --rerank auto was right about a single owner
			for i, p := range e.single {
				if p >= 0.5 == (len(owning(&e.queries[i], e.owners)) == 1) {
					right++
				}
			}
			e.notes = append(e.notes, fmt.Sprintf("whether one owner answers a query is told right for %.1f %% of %d queries", 100*float64(right)/float64(len(e.queries)), len(e.queries)))
		}
		if e.Settings.Rank == Auto {
			e.notes = append(e.notes, rankNote(e.queries, e.owners, e.chosen))
		}
		note, failure := e.rewriter.outcome(len(e.queries))
		if note != "" {
			e.notes = append(e.notes, note)
		}
		return errors.Join(err, e.unranked, failure)
	})
	return rankings, err
}

func (e *evaluator) judge(rankings [][]relevance.Ranked) *Run {
	run := &Run{Notes: e.notes}
	for i, ranking := range rankings {
		run.PerQuery = append(run.PerQuery, relevance.Judge(e.queries[i].ID, e.judgments[i], ranking))
	}
	run.Result = Result{
		Dataset: e.set.Name, Tools: e.tools, Queries: len(e.queries),
		Settings: e.Settings, Metrics: relevance.MeanOf(run.PerQuery), Missing: e.missing, Whole: e.whole,
	}
	return run
}
