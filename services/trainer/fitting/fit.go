package fitting

import (
	"context"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// Config says how to learn.
type Config struct {
	Usage bool // count uses and co-uses in the samples
	Sure  bool // leave the base as it is unless queries rank better by weights that were learned without them
	Seed  uint64
}

// How many irrelevant candidates of a query its relevant ones are compared with.
const (
	hardNegatives   = 40
	randomNegatives = 150
)

// How weights are learned. A lower price of a correction serves if it loses clearly less
// on queries that were left out: a tie goes to the smaller correction.
const (
	folds   = 4
	firstL2 = 0.1  // of the first round, which decides how candidates are related
	clearly = 0.01 // part of the loss
)

func (c Config) learn(l2 float64) fusion.LearnConfig {
	return fusion.LearnConfig{Rate: 0.1, L2: l2, Batch: 64, Epochs: 30, Seed: c.Seed}
}

// Fit learns a correction of base from samples. If Config has Usage, usage counts unless
// queries rank better without it, by base and by the learned weights. Fit is deterministic.
// It fails if ctx ends, or if a training step is not finite.
func (c Config) Fit(ctx context.Context, base fusion.Model, samples []Sample) (Fitted, error) {
	without := &fitter{cfg: c, samples: samples, base: base}
	if !c.Usage {
		return without.fit(ctx)
	}
	with := *without
	with.counts = countUses(samples)
	used, err := with.fit(ctx)
	if err != nil || !with.usageHarms() {
		return used, err
	}
	unused, err := without.fit(ctx)
	if err != nil || unused.Check.Learned < used.Check.Learned {
		return used, err
	}
	return unused, nil
}

// fitter learns once from samples.
type fitter struct {
	cfg     Config
	samples []Sample
	base    fusion.Model
	counts  *counts // nil: without usage
}

func (f *fitter) fit(ctx context.Context) (Fitted, error) {
	first, err := fusion.Train(f.base, slices.Concat(f.groups(&f.base)...), f.cfg.learn(firstL2))
	if err != nil {
		return Fitted{}, err
	}
	groups := f.groups(&first)
	l2, models, err := f.crossValidate(ctx, groups)
	if err != nil {
		return Fitted{}, err
	}
	out := Fitted{Usage: f.counts.usage()}
	for _, list := range groups {
		for i := range list {
			out.Pairs += len(list[i].Worse)
		}
	}
	out.Check.Base, out.Check.Queries = f.ndcg(func(int) *fusion.Model { return &f.base })
	out.Check.Learned, _ = f.ndcg(func(i int) *fusion.Model { return &models[i%folds] })
	if f.cfg.Sure && out.Check.Learned <= out.Check.Base {
		out.Model, out.Check.Learned = f.base, out.Check.Base
		return out, nil
	}
	out.Model, err = fusion.Train(f.base, slices.Concat(groups...), f.cfg.learn(l2))
	return out, err
}

// crossValidate returns the price of correction with the smallest loss on left-out queries,
// and the models that were learned without each fold.
func (f *fitter) crossValidate(ctx context.Context, groups [][]fusion.Group) (best float64, models []fusion.Model, err error) {
	least := math.Inf(1)
	for _, l2 := range [...]float64{0.3, 0.1, 0.03, 0.003} { // per squared unit of correction
		var trial []fusion.Model
		var lost float64
		for fold := range folds {
			if err := ctx.Err(); err != nil {
				return 0, nil, err
			}
			var train, test []fusion.Group
			for i, list := range groups {
				if i%folds == fold {
					test = append(test, list...)
				} else {
					train = append(train, list...)
				}
			}
			m, err := fusion.Train(f.base, train, f.cfg.learn(l2))
			if err != nil {
				return 0, nil, err
			}
			for i := range test {
				lost += m.Loss(&test[i])
			}
			trial = append(trial, m)
		}
		if models == nil || lost < least*(1-clearly) {
			best, least, models = l2, lost, trial
		}
	}
	return best, models, nil
}

// ndcg returns the mean NDCG@10 of the labelled samples, each ranked by its own model, and
// their number.
func (f *fitter) ndcg(model func(i int) *fusion.Model) (mean float64, queries int) {
	for i := range f.samples {
		s := &f.samples[i]
		if slices.ContainsFunc(s.Relevance, func(x float64) bool { return x > 0 }) {
			mean += s.ndcg(model(i), f.known(s))
			queries++
		}
	}
	return mean / float64(max(queries, 1)), queries
}

// enoughQueries is how many queries show that usage does harm: few queries hardly want
// the same tool twice.
const enoughQueries = 50

// usageHarms reports whether base ranks queries worse with the usage of the other queries than
// without usage. That happens if every query wants a tool that no other query wants.
func (f *fitter) usageHarms() bool {
	without := *f
	without.counts = nil
	base := func(int) *fusion.Model { return &f.base }
	used, queries := f.ndcg(base)
	unused, _ := without.ndcg(base)
	return queries >= enoughQueries && used < unused
}

// groups returns, for each sample, each relevant candidate with the negatives. Candidates
// are related as the model front ranks them.
func (f *fitter) groups(front *fusion.Model) [][]fusion.Group {
	out := make([][]fusion.Group, len(f.samples))
	for n := range f.samples {
		s := &f.samples[n]
		examples := make([]fusion.Example, len(s.Candidates))
		for i, features := range ranking.Features(s.Candidates, front, f.known(s)) {
			examples[i] = fusion.Example{Features: features, Matches: s.Candidates[i].Matches}
		}
		var worse []fusion.Example
		for _, i := range f.negatives(s, examples) {
			worse = append(worse, examples[i])
		}
		for i, relevance := range s.Relevance {
			if relevance > 0 && len(worse) > 0 {
				out[n] = append(out[n], fusion.Group{Better: examples[i], Worse: worse})
			}
		}
	}
	return out
}

// known returns the signals of a search for the sample before its own uses were counted.
func (f *fitter) known(s *Sample) ranking.Signals {
	k := ranking.Signals{Suppliers: s.Suppliers, Recorded: s.Suppliers == nil}
	if f.counts != nil {
		k.Usage = f.counts.without(s)
	}
	return k
}

// negatives returns the positions of the irrelevant candidates to learn from: the hardest
// candidates and a random choice of the others.
func (f *fitter) negatives(s *Sample, examples []fusion.Example) []int {
	var wrong []int
	for _, i := range byHardness(examples) {
		if s.Relevance[i] <= 0 {
			wrong = append(wrong, i)
		}
	}
	hard := min(hardNegatives, len(wrong))
	rest := wrong[hard:]
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.ID)) // never fails; a query's choice does not depend on the others
	rng := rand.New(rand.NewPCG(f.cfg.Seed, h.Sum64()))
	rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return wrong[:hard+min(randomNegatives, len(rest))]
}
