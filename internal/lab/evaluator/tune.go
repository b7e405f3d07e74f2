package evaluator

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/sourcegraph/conc/iter"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/lab/evaluation"
	"github.com/toolstream/toolstream/internal/relevance"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Tuned is what a search for built-in weights came to.
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

	// LeftOut is that of the weights that the other sets alone would choose: what to
	// expect on a set that the weights were not tuned to. It is nil of a single set.
	LeftOut *float64 `json:"left_out,omitempty"`
}

// TuneConfig says what weights are searched for.
type TuneConfig struct {
	Dirs   []string       // of the data sets
	Begin  schema.Weights // where the search begins
	Config config.Config  // chooses the embedding model
	Cache  string         // folder of vectors; empty: not stored
}

// The grid of factors by which dense features count more or less than at the
// beginning, which is in its middle.
const (
	gridStep  = 1.3
	gridSteps = 13
	gridBegin = gridSteps / 2
	leastGain = 0.0003 // what is less is taken for noise
)

// grid is the quality of a set by factor.
type grid [gridSteps]float64

// at is the mean quality around a point, so that a flat optimum wins over a
// narrow one.
func (g *grid) at(step int) float64 { return (g[step-1] + g[step] + g[step+1]) / 3 }

// Tune searches for what the vectors of an embedding model count against words where
// nothing is learned, on all of the data sets together. Every split of a set counts as a
// set, and only the raw queries and the documents that the rules make are looked at.
//
// It is the one thing that a model has to be asked for. Searches over all
// weights, or over those of clauses, pairs, owners and suppliers apart, find more
// on the sets that they look at and lose on one that was left out.
func Tune(ctx context.Context, cfg TuneConfig, progress func(stage string, done, total int)) (*Tuned, error) {
	base, err := fusion.ModelOf(cfg.Begin)
	if err != nil {
		return nil, err
	}
	t := &Tuned{}
	var grids []grid
	for _, dir := range cfg.Dirs {
		e := &evaluator{
			EvalConfig: EvalConfig{Dir: dir, Settings: evaluation.DefaultSettings(), Config: cfg.Config, Cache: cfg.Cache},
			EvalDeps:   EvalDeps{Progress: progress},
		}
		samples, err := e.sampleAll(ctx)
		if err != nil {
			return nil, err
		}
		t.Model = e.Settings.Model
		splits := map[string][]evaluation.Sample{}
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

// bestStep is the step that all sets but one do best with together; without is -1 to leave
// out none.
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

// grid ranks the samples by every model of the grid.
func (e *evaluator) grid(ctx context.Context, samples []evaluation.Sample, base fusion.Model) (g grid, err error) {
	for step := range g {
		if err := ctx.Err(); err != nil {
			return g, err
		}
		m := scaled(base, step)
		for _, q := range iter.Map(samples, func(s *evaluation.Sample) float64 { return e.quality(s, &m) }) {
			g[step] += q / float64(len(samples))
		}
		e.progress("tuning", step+1, gridSteps)
	}
	return g, nil
}

// quality is the mean of NDCG@5 and NDCG@10 of a query.
func (e *evaluator) quality(s *evaluation.Sample, m *fusion.Model) float64 {
	ranked := e.order(s, m, usageOf(nil), nil)
	metrics := relevance.Judge(s.Query.ID, relevance.JudgeTools(s.Query.Labels), ranked).Metrics
	return (metrics.Of("ndcg@5") + metrics.Of("ndcg@10")) / 2
}

func (e *evaluator) sampleAll(ctx context.Context) (samples []evaluation.Sample, err error) {
	if err := e.open(); err != nil {
		return nil, err
	}
	err = e.withIndex(ctx, func() (err error) {
		samples, err = e.samples(ctx)
		return err
	})
	return samples, err
}
