package evaluator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/lab/dataset"
	"github.com/toolstream/toolstream/internal/lab/evaluation"
	"github.com/toolstream/toolstream/internal/relevance"
	"github.com/toolstream/toolstream/internal/training"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/trainer"
)

// TrainConfig says what is learned from and what for.
type TrainConfig struct {
	Dir      string              // of the data set: labelled queries, or recorded searches
	Settings evaluation.Settings // documents, queries, retrieval, usage and split, as in an evaluation
	Seed     uint64              // decides the order of the pairs
	Config   config.Config       // chooses the embedding model
}

// Trained is what came of a training.
type Trained struct {
	Weights schema.Weights `json:"weights"`
	Pairs   int            `json:"pairs"`

	// CrossValidated is how well queries rank by weights that are learned without their
	// fold. It is absent where there are no labels.
	CrossValidated *relevance.Metrics `json:"cross_validated,omitempty"`
}

// Train learns weights from a whole data set, and measures what such weights
// are worth on queries that they were not learned from.
func Train(ctx context.Context, cfg TrainConfig, progress func(stage string, done, total int)) (*Trained, error) {
	learn := trainLabels
	if recordedSearches(cfg.Dir) {
		learn = trainSearches
	}
	t, err := learn(ctx, cfg, progress)
	if err != nil {
		return nil, err
	}
	if t.Pairs == 0 {
		return nil, errors.New("the data set says of no tool that it is better than another")
	}
	return t, nil
}

// recordedSearches reports whether a folder holds searches and no tools.
func recordedSearches(dir string) bool {
	_, err := dataset.OpenSearches(dir)
	_, absent := dataset.Open(dir)
	return err == nil && errors.Is(absent, dataset.ErrAbsent)
}

// trainLabels learns from labelled queries.
func trainLabels(ctx context.Context, cfg TrainConfig, progress func(stage string, done, total int)) (*Trained, error) {
	measured := EvalConfig{Dir: cfg.Dir, Settings: cfg.Settings, Config: cfg.Config}
	measured.Settings.Weights = evaluation.Learned
	e := &evaluator{EvalConfig: measured, EvalDeps: EvalDeps{Fit: evaluation.Learn(cfg.Seed), Progress: progress}}
	if err := e.open(); err != nil {
		return nil, err
	}
	t := &Trained{}
	err := e.withIndex(ctx, func() error {
		samples, err := e.samples(ctx)
		if err != nil {
			return err
		}
		rankings, err := e.crossValidate(ctx, samples)
		if err != nil {
			return err
		}
		t.CrossValidated = &e.judge(rankings).Metrics
		base, err := e.baseModel()
		if err != nil {
			return err
		}
		fitted, err := e.Fit(ctx, base, samples, e.Settings.Usage == evaluation.On)
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
func trainSearches(ctx context.Context, cfg TrainConfig, _ func(stage string, done, total int)) (*Trained, error) {
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
	var impressions []schema.Impression
	var feedback []schema.Feedback
	for _, s := range searches {
		impressions, feedback = append(impressions, s.Impression), append(feedback, s.Feedback...)
	}
	base, err := fusion.ModelOf(fusion.BuiltinFor(model))
	if err != nil {
		return nil, err
	}
	fitted, err := training.Config{Seed: cfg.Seed}.Fit(ctx, base, trainer.Samples(impressions, feedback))
	if err != nil {
		return nil, err
	}
	w, err := trained(fitted.Model, fitted.Pairs, fmt.Sprintf("learned from %d recorded searches of %s", len(searches), set.Name))
	return &Trained{Weights: w, Pairs: fitted.Pairs}, err
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
