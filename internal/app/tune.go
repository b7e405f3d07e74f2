package app

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/training"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Tuned is what a search for built-in weights came to.
type Tuned struct {
	Model   string   // the embedding model
	Sets    []string // in the order of the figures
	Weights schema.Weights
	*training.Tuning
}

// TuneConfig says what weights are searched for.
type TuneConfig struct {
	Dirs   []string       // of the data sets
	Begin  schema.Weights // where the search begins
	Config config.Config  // chooses the embedding model
	Cache  string         // folder in which vectors are kept; empty is none
}

// Tune searches for the weights that are best where nothing is learned, on all
// of the data sets together. Every split of a set counts as a set, and only the
// raw queries and the documents that the rules make are looked at.
func Tune(ctx context.Context, cfg TuneConfig, progress func(stage string, done, total int)) (*Tuned, error) {
	base, err := fusion.ModelOf(cfg.Begin)
	if err != nil {
		return nil, fmt.Errorf("tune: %w", err)
	}
	t := &Tuned{}
	var decks []*training.Deck
	for _, dir := range cfg.Dirs {
		e := &evaluator{
			EvalConfig: EvalConfig{Dir: dir, Settings: evaluation.DefaultSettings(), Config: cfg.Config, Cache: cfg.Cache},
			deps:       EvalDeps{Progress: progress},
		}
		samples, err := e.sampleAll(ctx)
		if err != nil {
			return nil, fmt.Errorf("tune: %w", err)
		}
		t.Model = e.Settings.Model
		for _, split := range splits(samples) {
			decks = append(decks, training.NewDeck(filepath.Join(e.set.Name, split.name), split.samples, base))
		}
	}
	if t.Tuning, err = training.Tune(ctx, decks, base, progress); err != nil {
		return nil, err
	}
	for _, d := range decks {
		t.Sets = append(t.Sets, d.Name)
	}
	t.Weights = t.Tuning.Model.Weights()
	t.Weights.Source = fmt.Sprintf("searched for on %d sets together, with %s", len(decks), t.Model)
	t.Weights, err = sealed("tuned", t.Weights)
	return t, err
}

func (e *evaluator) sampleAll(ctx context.Context) (samples []evaluation.Sample, err error) {
	if err := e.open(); err != nil {
		return nil, err
	}
	err = e.withRegistry(ctx, func(r *registry) (err error) {
		samples, err = e.samples(ctx, r)
		return err
	})
	return samples, err
}

// part of a set's queries that is a set by itself.
type split struct {
	name    string
	samples []evaluation.Sample
}

// splits divides queries by their splits, in the order of their first queries.
func splits(samples []evaluation.Sample) []*split {
	var list []*split
	byName := map[string]*split{}
	for _, s := range samples {
		p := byName[s.Query.Split]
		if p == nil {
			p = &split{name: s.Query.Split}
			byName[p.name] = p
			list = append(list, p)
		}
		p.samples = append(p.samples, s)
	}
	return list
}
