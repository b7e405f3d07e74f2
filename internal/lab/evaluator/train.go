package evaluator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/trainer"
	"github.com/toolstream/toolstream/services/trainer/fitting"
)

// TrainConfig configures a training.
type TrainConfig struct {
	Dir      string        // of the data set: labelled queries, or recorded searches
	Settings Settings      // documents, queries, retrieval, usage and split, as in an evaluation
	Seed     uint64        // decides the order of the pairs
	Config   config.Config // chooses the embedding model
}

// Trained is the result of a training.
type Trained struct {
	Weights schema.Weights `json:"weights"`
	Pairs   int            `json:"pairs"`

	// CrossValidated is how well queries rank by weights that are learned without their fold. It
	// is nil if there are no labels.
	CrossValidated *relevance.Metrics `json:"cross_validated,omitempty"`
}

// Train learns weights from a whole data set, and measures the worth of such weights on
// queries that they were not learned from.
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
	measured.Settings.Weights = Learned
	e := &evaluator{EvalConfig: measured, EvalDeps: EvalDeps{Fit: Learn(cfg.Seed), Progress: progress}}
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
		fitted, err := e.Fit(ctx, base, samples, e.Settings.Usage == On)
		if err != nil {
			return err
		}
		t.Pairs = fitted.Pairs
		t.Weights, err = trained(fitted.Model, t.Pairs, fmt.Sprintf("learned from the labels of %s, %d queries, %s", e.set.Name, len(samples), e.Settings.Model))
		return err
	})
	return t, err
}

// trainSearches learns from recorded results and the agents' feedback on them.
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
	fitted, err := fitting.Config{Seed: cfg.Seed}.Fit(ctx, base, trainer.Samples(impressions, feedback))
	if err != nil {
		return nil, err
	}
	w, err := trained(fitted.Model, fitted.Pairs, fmt.Sprintf("learned from %d recorded searches of %s", len(searches), set.Name))
	return &Trained{Weights: w, Pairs: fitted.Pairs}, err
}

// modelOf returns the embedding model that all searches ranked by. Weights are learned from
// its cosines, and the cosines of another model mean something else. It returns "" if no
// search names a model.
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

// sealed seals weights and names them after their origin and their content, so that no two
// share a version.
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
