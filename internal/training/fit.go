package training

import (
	"context"
	"hash/fnv"
	"math/rand/v2"

	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Config tunes learning. The zero value of a field means its default.
type Config struct {
	Hard   int // negatives a query that look most like an answer; 40
	Random int // further negatives a query; 150
	Learn  fusion.LearnConfig
}

func (c Config) withDefaults() Config {
	if c.Hard == 0 {
		c.Hard = 40
	}
	if c.Random == 0 {
		c.Random = 150
	}
	return c
}

// FrontRunners is how many of the best candidates common use is counted with:
// as many as in a search.
const FrontRunners = 3

// Fit learns a correction of base from labelled queries, and counts their uses
// where options say so. The same arguments give the same outcome. It is an
// evaluation.Fit.
func (c Config) Fit(ctx context.Context, base fusion.Model, train []evaluation.Sample, options evaluation.FitOptions) (evaluation.Fitted, error) {
	l := &lesson{cfg: c.withDefaults(), samples: train, base: base}
	if options.Usage {
		l.counts = countUses(train)
	}
	m, pairs, err := l.learn(ctx, nil)
	if err == nil && l.counts != nil {
		m, pairs, err = l.learn(ctx, &m)
	}
	if err != nil {
		return evaluation.Fitted{}, err
	}
	return evaluation.Fitted{Model: m, Usage: l.counts.table(), Pairs: pairs}, nil
}

// lesson is one learning from a set of queries.
type lesson struct {
	cfg     Config
	samples []evaluation.Sample
	base    fusion.Model
	counts  *counts // nil: usage is not to be known
}

// learn returns the model learned from the pairs of all queries, and how many
// those are. Front runners, and with them common use, are those of the model
// front; nil knows none.
func (l *lesson) learn(ctx context.Context, front *fusion.Model) (fusion.Model, int, error) {
	var pairs []fusion.Pair
	for i := range l.samples {
		if err := ctx.Err(); err != nil {
			return l.base, 0, err
		}
		pairs = append(pairs, l.pairs(&l.samples[i], front)...)
	}
	m, err := fusion.Train(l.base, pairs, l.cfg.Learn)
	return m, len(pairs), err
}

// pairs returns what the labels of one query say.
func (l *lesson) pairs(s *evaluation.Sample, front *fusion.Model) []fusion.Pair {
	examples := make([]fusion.Example, len(s.Candidates))
	for i := range s.Candidates {
		examples[i] = fusion.Example{Features: s.Candidates[i].Features, Matches: s.Candidates[i].Matches}
	}
	if l.counts != nil {
		l.addUsage(s, examples, front)
	}
	negatives := l.negatives(s, examples)
	var pairs []fusion.Pair
	for i, relevance := range s.Relevance {
		if relevance <= 0 {
			continue
		}
		for _, j := range negatives {
			pairs = append(pairs, fusion.Pair{Better: examples[i], Worse: examples[j]})
		}
	}
	return pairs
}

// addUsage sets the usage features as a search would, had it come before the
// query's own uses were counted.
func (l *lesson) addUsage(s *evaluation.Sample, examples []fusion.Example, front *fusion.Model) {
	own := relevant(&s.Query)
	for i, c := range s.Candidates {
		if c.Kind != schema.KindAgent {
			examples[i].Features[fusion.UsagePrior] = l.counts.prior(c.ID, own)
		}
	}
	if front == nil {
		return
	}
	best := frontRunners(s, examples, front)
	for i, c := range s.Candidates {
		if c.Kind != schema.KindAgent {
			examples[i].Features[fusion.UsageCoUse] = l.counts.coUse(c.ID, best, own)
		}
	}
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
	rng := rand.New(rand.NewPCG(l.cfg.Learn.Seed, hash(s.Query.ID)))
	rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return wrong[:hard+min(l.cfg.Random, len(rest))]
}

// hash makes a query's random negatives its own, whatever stands around it.
func hash(id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return h.Sum64()
}
