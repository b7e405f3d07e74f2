package training

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// Config tunes learning. The zero value of a field means its default.
type Config struct {
	Hard   int // negatives a query that look most like an answer; 40
	Random int // further negatives a query; 150
	Seed   uint64

	// Sure leaves base as it is where corrections do not rank queries better that
	// they were not learned from.
	Sure bool

	// L2 are the prices of a squared unit of correction that are tried, highest
	// first. A lower one serves if it clearly loses less on queries that were
	// left out. 0.3, 0.1, 0.03, 0.003
	L2 []float64
}

func (c Config) withDefaults() Config {
	if c.Hard == 0 {
		c.Hard = 40
	}
	if c.Random == 0 {
		c.Random = 150
	}
	if len(c.L2) == 0 {
		c.L2 = []float64{0.3, 0.1, 0.03, 0.003}
	}
	return c
}

// learn is what fusion learns with: as many steps as the smallest sets need.
func (c Config) learn(l2 float64) fusion.LearnConfig {
	return fusion.LearnConfig{Rate: 0.1, L2: l2, Batch: 64, Epochs: 30, Seed: c.Seed}
}

// Fit learns a correction of base from labelled queries. Uses are counted where options
// say so, unless both base and what is learned with them rank queries worse that were
// left out than without. The same arguments give the same outcome. It is an
// evaluation.Fit.
func (c Config) Fit(ctx context.Context, base fusion.Model, train []evaluation.Sample, options evaluation.FitOptions) (evaluation.Fitted, error) {
	used := &lesson{cfg: c.withDefaults(), samples: train, base: base}
	unused := *used
	if !options.Usage {
		return unused.fit(ctx)
	}
	used.counts = countUses(train)
	with, err := used.fit(ctx)
	if err != nil || !used.useHarms() {
		return with, err
	}
	without, err := unused.fit(ctx)
	if err != nil {
		return evaluation.Fitted{}, err
	}
	knowing, _ := used.leftOut(used.without)
	ignorant, _ := unused.leftOut(unused.without)
	if ignorant >= knowing {
		return without, nil
	}
	return with, nil
}

// fit learns a correction of base, with the use of tools where that is counted.
func (l *lesson) fit(ctx context.Context) (evaluation.Fitted, error) {
	groups, err := l.groups(ctx, &l.base)
	if err == nil {
		var first fusion.Model
		if first, err = fusion.TrainGroups(l.base, slices.Concat(groups...), l.cfg.learn(firstL2)); err == nil {
			groups, err = l.groups(ctx, &first)
		}
	}
	if err != nil {
		return evaluation.Fitted{}, err
	}
	l2, err := l.chooseL2(ctx, groups)
	if err != nil {
		return evaluation.Fitted{}, err
	}
	m := l.base
	if !l.cfg.Sure || l.pays() {
		if m, err = fusion.TrainGroups(l.base, slices.Concat(groups...), l.cfg.learn(l2)); err != nil {
			return evaluation.Fitted{}, err
		}
	}
	return evaluation.Fitted{Model: m, Usage: l.counts.usage(), Pairs: pairsIn(groups)}, nil
}

// firstL2 is the price of correction in the round that looks only for what ranks
// first, which decides how candidates are related.
const firstL2 = 0.1

func pairsIn(groups [][]fusion.Group) (n int) {
	for _, list := range groups {
		for i := range list {
			n += len(list[i].Worse)
		}
	}
	return n
}

// lesson is one learning from a set of queries.
type lesson struct {
	cfg     Config
	samples []evaluation.Sample
	base    fusion.Model
	counts  *counts        // nil: usage is not to be known
	without []fusion.Model // what is learned where a part of the samples is left out; base where that stays
}

// groups returns what the labels say, query by query. Candidates are related as
// the model front ranks them.
func (l *lesson) groups(ctx context.Context, front *fusion.Model) ([][]fusion.Group, error) {
	out := make([][]fusion.Group, len(l.samples))
	for i := range l.samples {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = l.group(&l.samples[i], front)
	}
	return out, nil
}

// group returns what the labels of one query say: that each relevant candidate
// is better than the query's negatives.
func (l *lesson) group(s *evaluation.Sample, front *fusion.Model) []fusion.Group {
	examples := make([]fusion.Example, len(s.Candidates))
	for i, features := range ranking.Features(s.Candidates, front, l.known(s)) {
		examples[i] = fusion.Example{Features: features, Matches: s.Candidates[i].Matches}
	}
	var worse []fusion.Example
	for _, i := range l.negatives(s, examples) {
		worse = append(worse, examples[i])
	}
	var groups []fusion.Group
	for i, relevance := range s.Relevance {
		if relevance > 0 && len(worse) > 0 {
			groups = append(groups, fusion.Group{Better: examples[i], Worse: worse})
		}
	}
	return groups
}

// known is what a search knows beside the texts, had it come before the query's
// own uses were counted.
func (l *lesson) known(s *evaluation.Sample) ranking.Known {
	k := s.Known()
	if l.counts != nil {
		k.Uses = l.counts.without(s)
	}
	return k
}

// negatives returns the positions of the candidates that a query's relevant
// ones are compared with.
func (l *lesson) negatives(s *evaluation.Sample, examples []fusion.Example) []int {
	order := byHardness(examples)
	var wrong []int
	for _, i := range order {
		if s.Relevance[i] <= 0 {
			wrong = append(wrong, i)
		}
	}
	hard := min(l.cfg.Hard, len(wrong))
	rest := wrong[hard:]
	rng := rand.New(rand.NewPCG(l.cfg.Seed, hash(s.Query.ID)))
	rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return wrong[:hard+min(l.cfg.Random, len(rest))]
}

// hash makes a query's random negatives its own, whatever stands around it.
func hash(id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return h.Sum64()
}
