package evaluator

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/sourcegraph/conc/iter"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Tuned is the result of a search for built-in weights.
type Tuned struct {
	Model   string         `json:"model"` // the embedding model
	Weights schema.Weights `json:"weights"`
	Sets    []TuneResult   `json:"sets"`
}

// TuneResult is the quality of weights on one set: the mean of NDCG@5 and NDCG@10.
type TuneResult struct {
	Set    string  `json:"set"`
	Before float64 `json:"before"` // of the weights that the search began with
	After  float64 `json:"after"`  // of the weights that were found

	// LeftOut is the quality of the weights that the other sets alone would choose: the quality to
	// expect on a set that the weights were not tuned to. It is nil for a single set.
	LeftOut *float64 `json:"left_out,omitempty"`
}

// TuneConfig configures a search for weights.
type TuneConfig struct {
	Dirs   []string       // of the data sets
	Begin  schema.Weights // start of the search
	Config config.Config  // chooses the embedding model
	Cache  string         // folder of vectors; empty: not stored
}

// The grid of factors for the weight of dense features. Its middle is the beginning.
const (
	gridStep  = 1.3
	gridSteps = 13
	gridBegin = gridSteps / 2
	leastGain = 0.0003 // a smaller gain is taken for noise
)

// grid is the quality of a set by factor.
type grid [gridSteps]float64

// at is the mean quality around a point, so that a flat optimum wins over a
// narrow one.
func (g *grid) at(step int) float64 { return (g[step-1] + g[step] + g[step+1]) / 3 }

// Tune searches for the weight of an embedding model's vectors against words if nothing is
// learned, on all of the data sets together. Every split of a set counts as a set. It uses
// only the raw queries and the documents that the rules make.
//
// A model needs no other tuning. Searches over all weights, or over the weights of clauses,
// pairs, owners and suppliers apart, find more on the sets that they look at and lose on a set
// that was left out.
func Tune(ctx context.Context, cfg TuneConfig, progress func(stage string, done, total int)) (*Tuned, error) {
	base, err := fusion.ModelOf(cfg.Begin)
	if err != nil {
		return nil, err
	}
	t := &Tuned{}
	var grids []grid
	for _, dir := range cfg.Dirs {
		e := &evaluator{
			EvalConfig: EvalConfig{Dir: dir, Settings: DefaultSettings(), Config: cfg.Config, Cache: cfg.Cache},
			EvalDeps:   EvalDeps{Progress: progress},
		}
		samples, err := e.sampleAll(ctx)
		if err != nil {
			return nil, err
		}
		t.Model = e.Settings.Model
		splits := map[string][]Sample{}
		var names []string
		for _, s := range samples {
			name := s.Query.Split
			if splits[name] == nil {
				names = append(names, name)
			}
			splits[name] = append(splits[name], s)
		}
		for _, name := range names {
			g, err := e.grid(ctx, splits[name], base)
			if err != nil {
				return nil, err
			}
			grids = append(grids, g)
			t.Sets = append(t.Sets, TuneResult{Set: filepath.Join(e.set.Name, name)})
		}
	}
	best := bestStep(grids, -1)
	for i := range t.Sets {
		r := &t.Sets[i]
		r.Before, r.After = grids[i][gridBegin], grids[i][best]
		if len(t.Sets) > 1 {
			r.LeftOut = &grids[i][bestStep(grids, i)]
		}
	}
	model := scaled(base, best)
	t.Weights = model.Weights()
	t.Weights.Source = fmt.Sprintf("searched for on %d sets together, with %s", len(grids), t.Model)
	t.Weights, err = sealed("tuned", t.Weights)
	return t, err
}

// bestStep is the best step for all sets together, except set number without; -1 leaves out no
// set.
func bestStep(grids []grid, without int) int {
	mean := func(step int) (sum float64) {
		for i := range grids {
			if i != without {
				sum += grids[i].at(step) / float64(len(grids))
			}
		}
		return sum
	}
	best, most := gridBegin, mean(gridBegin)+leastGain
	for step := 1; step < gridSteps-1; step++ {
		if q := mean(step); q > most {
			best, most = step, q
		}
	}
	return best
}

// scaled returns a model whose dense features count by the factor of a step.
func scaled(m fusion.Model, step int) fusion.Model {
	for f := range m.Features {
		if fusion.Feature(f).Dense() {
			m.Features[f] *= math.Pow(gridStep, float64(step-gridBegin))
		}
	}
	return m
}

// grid measures every model of the grid on the samples, by the mean of NDCG@5 and NDCG@10.
func (e *evaluator) grid(ctx context.Context, samples []Sample, base fusion.Model) (g grid, err error) {
	for step := range g {
		if err := ctx.Err(); err != nil {
			return g, err
		}
		m := scaled(base, step)
		for _, q := range iter.Map(samples, func(s *Sample) float64 {
			ranked := e.order(s, &m, usageOf(nil), nil)
			metrics := relevance.Judge(s.Query.ID, relevance.JudgeTools(s.Query.Labels), ranked).Metrics
			return (metrics.Of("ndcg@5") + metrics.Of("ndcg@10")) / 2
		}) {
			g[step] += q / float64(len(samples))
		}
		e.progress("tuning", step+1, gridSteps)
	}
	return g, nil
}

func (e *evaluator) sampleAll(ctx context.Context) (samples []Sample, err error) {
	if err := e.open(); err != nil {
		return nil, err
	}
	err = e.withIndex(ctx, func() (err error) {
		samples, err = e.samples(ctx)
		return err
	})
	return samples, err
}
