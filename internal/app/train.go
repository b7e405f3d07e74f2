package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/evaluation/paper"
	"github.com/toolstream/toolstream/internal/training"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/trainer"
)

// The ways of scoring that weights are learned for.
const (
	ServingScoring = "serving" // the features that searches rank by
	PaperScoring   = "paper"   // the exact scoring of arXiv 2602.05366
)

// TrainConfig says what is learned from and what for.
type TrainConfig struct {
	Dir      string              // of the data set: labelled queries, or recorded searches
	Scoring  string              // ServingScoring or PaperScoring
	Settings evaluation.Settings // documents, queries, retrieval, usage and split, as in an evaluation
	Seed     uint64              // the first one
	Seeds    int                 // how many trainings the cross-validation of PaperScoring repeats
	Config   config.Config       // chooses the embedding model
}

// Trained is what came of a training.
type Trained struct {
	Weights schema.Weights
	Pairs   int

	// CrossValidated holds, of every query, how it ranks by what was learned
	// without its fold; one list a seed. It is empty where there are no labels.
	CrossValidated [][]evaluation.QueryResult
}

// Train learns weights from a whole data set, and measures what such weights
// are worth on queries that they were not learned from.
func Train(ctx context.Context, cfg TrainConfig, progress func(stage string, done, total int)) (*Trained, error) {
	var t *Trained
	var err error
	switch {
	case cfg.Scoring == PaperScoring:
		t, err = trainPaper(ctx, cfg)
	case recordedSearches(cfg.Dir):
		t, err = trainSearches(cfg)
	default:
		t, err = trainServing(ctx, cfg, progress)
	}
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	if t.Pairs == 0 {
		return nil, errors.New("train: the data set says of no tool that it is better than another")
	}
	return t, nil
}

// recordedSearches reports whether a folder holds searches and no tools.
func recordedSearches(dir string) bool {
	_, err := dataset.OpenSearches(dir)
	_, absent := dataset.Open(dir)
	return err == nil && errors.Is(absent, dataset.ErrAbsent)
}

func trainServing(ctx context.Context, cfg TrainConfig, progress func(stage string, done, total int)) (*Trained, error) {
	fit := training.Config{Seed: cfg.Seed}.Fit
	measured := EvalConfig{Dir: cfg.Dir, Settings: cfg.Settings, Config: cfg.Config}
	measured.Settings.Weights = evaluation.Learned
	e := &evaluator{EvalConfig: measured, deps: EvalDeps{Fit: fit, Progress: progress}}
	if err := e.open(); err != nil {
		return nil, err
	}
	t := &Trained{}
	err := e.withRegistry(ctx, func(r *registry) error {
		samples, err := e.samples(ctx, r)
		if err != nil {
			return err
		}
		rankings, err := e.crossValidate(ctx, samples)
		if err != nil {
			return err
		}
		t.CrossValidated = [][]evaluation.QueryResult{e.judge(rankings).PerQuery}
		base, err := e.baseModel()
		if err != nil {
			return err
		}
		fitted, err := fit(ctx, base, samples, e.fitOptions())
		if err != nil {
			return err
		}
		t.Pairs = fitted.Pairs
		t.Weights, err = trained(fitted.Model, t.Pairs, fmt.Sprintf("learned from the labels of %s, %d queries, %s", e.set.Name, len(samples), e.Settings.Model))
		return err
	})
	return t, err
}

// trainSearches learns from what was shown and what agents did with it.
func trainSearches(cfg TrainConfig) (*Trained, error) {
	set, err := dataset.OpenSearches(cfg.Dir)
	if err != nil {
		return nil, err
	}
	searches, err := set.Searches()
	if err != nil {
		return nil, err
	}
	model, err := modelOf(searches)
	if err != nil {
		return nil, err
	}
	var pairs []fusion.Pair
	for _, s := range searches {
		pairs = append(pairs, trainer.Pairs(s.Impression, s.Feedback)...)
	}
	base, err := fusion.ModelOf(fusion.BuiltinFor(model))
	if err != nil {
		return nil, err
	}
	m, err := fusion.Train(base, pairs, fusion.LearnConfig{Seed: cfg.Seed})
	if err != nil {
		return nil, err
	}
	w, err := trained(m, len(pairs), fmt.Sprintf("learned from %d recorded searches of %s", len(searches), set.Name))
	return &Trained{Weights: w, Pairs: len(pairs)}, err
}

// modelOf returns the embedding model that all searches ranked by: its cosines are
// what is learned from, and of another they say something else. It is empty where
// none says so.
func modelOf(searches []dataset.Recorded) (string, error) {
	counts := map[string]int{}
	for _, s := range searches {
		if s.Model != "" {
			counts[s.Model]++
		}
	}
	models := slices.Sorted(maps.Keys(counts))
	if len(models) > 1 {
		first, second := models[0], models[1]
		return "", fmt.Errorf("the searches ranked by several embedding models, such as %s (%d) and %s (%d): leave those of one in searches.jsonl",
			first, counts[first], second, counts[second])
	}
	return strings.Join(models, ""), nil
}

func trainPaper(ctx context.Context, cfg TrainConfig) (*Trained, error) {
	set, err := dataset.Open(cfg.Dir)
	if err != nil {
		return nil, err
	}
	scorer, closer, err := newScorer(ctx, cfg.Config, set, cfg.Settings.Retrieval == evaluation.Dense)
	if err != nil {
		return nil, err
	}
	defer closer.Close() // nothing is written to it
	pairs, err := scorer.Pairs(ctx, set)
	if err != nil {
		return nil, err
	}
	t := &Trained{}
	if t.CrossValidated, err = validatePaper(ctx, cfg, set, scorer, pairs); err != nil {
		return nil, err
	}
	queries, err := set.Queries()
	if err != nil {
		return nil, err
	}
	var all []fusion.Pair
	for _, q := range queries { // in the order of the file: a map has none
		all = append(all, pairs[q.ID]...)
	}
	m, err := paper.Train(all, scorer.Fields(), cfg.Seed)
	if err != nil {
		return nil, err
	}
	t.Pairs = len(all)
	t.Weights, err = trained(m, t.Pairs, fmt.Sprintf("learned the way of arXiv 2602.05366 from %s, %d queries", set.Name, len(queries)))
	return t, err
}

// validatePaper measures models of each fold, once a seed.
func validatePaper(ctx context.Context, cfg TrainConfig, set *dataset.Set, scorer *paper.Scorer, pairs map[string][]fusion.Pair) ([][]evaluation.QueryResult, error) {
	parts, err := set.Folds(folds)
	if err != nil {
		return nil, err
	}
	queries, err := set.Queries()
	if err != nil {
		return nil, err
	}
	var out [][]evaluation.QueryResult
	for seed := range uint64(max(cfg.Seeds, 1)) {
		models, err := paper.CrossValidated(pairs, parts, scorer.Fields(), cfg.Seed+seed)
		if err != nil {
			return nil, err
		}
		rankings, err := rankPaper(ctx, set, scorer, models, queries)
		if err != nil {
			return nil, err
		}
		var results []evaluation.QueryResult
		for i, q := range queries {
			if j := evaluation.JudgeTools(q.Labels); !j.Empty() {
				results = append(results, evaluation.Judge(q.ID, j, rankings[i]))
			}
		}
		out = append(out, results)
	}
	return out, nil
}

// trained returns a learned model in its exchangeable form.
func trained(m fusion.Model, pairs int, source string) (schema.Weights, error) {
	w := m.Weights()
	w.Source, w.Trained = source, pairs
	return sealed("trained", w)
}

// sealed names weights after how they were made and what they are, so that two never
// share a version, and seals them.
func sealed(made string, w schema.Weights) (schema.Weights, error) {
	w.Version = made
	draft, err := fusion.Seal(w)
	if err != nil {
		return w, err
	}
	w.Version = made + "-" + draft.Hash[:8]
	w.Created = time.Time{} // the same data, the same file
	return fusion.Seal(w)
}
