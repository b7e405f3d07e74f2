package evaluator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"

	"github.com/sourcegraph/conc/pool"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/internal/lab/simulation"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// SimulateConfig configures a simulation.
type SimulateConfig struct {
	Dir    string        // of the data set: labelled queries
	Seeds  int           // how often, each with another fold held out and other users
	Rounds int           // how often each query is asked; 0 for as often as makes enough searches
	Users  int           // who take turns
	Config config.Config // chooses the embedding model and paces learning

	Drift    bool // also simulate a change of the labels at half time
	Silent   bool // every fifth user reports nothing, too
	Thorough bool // users who look at all of 100 results and never err, too
	Invented bool // a hostile user under many names, too
}

// How often each query is asked by default: few queries need to be asked often
// until learning levels off, and many take long.
const (
	enoughSearches = 8000
	fewestRounds   = 8
	mostRounds     = 100
)

// Simulated is the effect of learning from users: NDCG@10 on the queries of the fold that no
// user asked, means over the seeds.
type Simulated struct {
	Dataset string `json:"dataset"`
	Seeds   int    `json:"seeds"`
	Outcome
	Drift *Drift `json:"drift,omitempty"`

	Curve []LearningPoint `json:"-"` // of clicks, from the start to the end
	Each  []Outcome       `json:"-"` // by seed
}

// Outcome is the result of one seed, or the mean of all.
type Outcome struct {
	Start       float64 `json:"start"`        // by the built-in weights
	FullLabels  float64 `json:"full_labels"`  // learned from all labels of the other folds
	ShownLabels float64 `json:"shown_labels"` // learned from the labels of the tools shown to the clicking users
	Clicks      float64 `json:"clicks"`       // learned from the users' clicks on their results
	GainShare   float64 `json:"gain_share"`   // share of the full labels' gain that clicks reach; of the means only
	Attack20    float64 `json:"attack_20"`    // clicks, if every fifth user is hostile
	AttackOne   float64 `json:"attack_one"`   // clicks, with one hostile user who never stops

	Invented      Invented `json:"invented,omitzero"`       // by 50 names of one hostile user, who has a credential of his own
	InventedAmong Invented `json:"invented_among,omitzero"` // the same, if all users have the same credential

	Silent20 float64 `json:"silent_20,omitzero"` // clicks, if every fifth user reports nothing
	Thorough float64 `json:"thorough,omitzero"`  // clicks of users who look at everything
}

// Invented is the success of a hostile user who, under many names, reports a tool that no
// query asks for: the share of all queries that have the tool among the first five.
type Invented struct {
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	NDCG   float64 `json:"ndcg"` // at the end
}

// Margin returns the half of the 95 % interval of the mean of a value over the
// seeds, by the normal approximation; 0 for a single seed.
func (s *Simulated) Margin(value func(*Outcome) float64) float64 {
	n := float64(len(s.Each))
	if n < 2 {
		return 0
	}
	var mean, squares float64
	for i := range s.Each {
		mean += value(&s.Each[i]) / n
	}
	for i := range s.Each {
		squares += (value(&s.Each[i]) - mean) * (value(&s.Each[i]) - mean)
	}
	return 1.96 * math.Sqrt(squares/(n-1)/n)
}

// LearningPoint is the quality of the ranking after a number of feedback events.
type LearningPoint struct {
	Events, NDCG float64 // means over the seeds
}

// atEnd is the final value of a curve that begins before the first round: the mean over the
// last tenth of the rounds, because each round is partly chance.
func atEnd(curve []LearningPoint) (ndcg float64) {
	last := curve[len(curve)-max(1, (len(curve)-1)/10):]
	for _, p := range last {
		ndcg += p.NDCG / float64(len(last))
	}
	return ndcg
}

// Simulate replays a data set as users who search and click, through the trainer
// and the query service that serve, in this process. The same arguments give the
// same answer. Seeds and users are 1 or more, rounds 0 or more. Progress may be nil.
func Simulate(ctx context.Context, cfg SimulateConfig, progress func(stage string, done, total int)) (*Simulated, error) {
	settings := DefaultSettings()
	settings.Weights, settings.Usage = Learned, On
	e := &evaluator{EvalConfig: EvalConfig{Dir: cfg.Dir, Settings: settings, Config: cfg.Config}, EvalDeps: EvalDeps{Progress: progress}}
	if err := e.open(); err != nil {
		return nil, err
	}
	s := &simulator{evaluator: e, cfg: cfg, out: Simulated{Dataset: e.set.Name, Seeds: cfg.Seeds}}
	if err := e.withIndex(ctx, func() error { return s.replayAll(ctx) }); err != nil {
		return nil, err
	}
	return &s.out, nil
}

// simulator is the state of a simulation.
type simulator struct {
	*evaluator
	cfg    SimulateConfig
	rounds atomic.Int64 // over, of all runs
	out    Simulated
}

// split is the training and the test queries of one seed.
type split struct{ train, test []Sample }

func (s *simulator) replayAll(ctx context.Context) error {
	samples, err := s.samples(ctx)
	if err != nil {
		return err
	}
	if s.cfg.Rounds == 0 && len(samples) > 0 {
		s.cfg.Rounds = max(fewestRounds, min(enoughSearches*folds/(folds-1)/len(samples), mostRounds))
	}
	parts, err := s.set.Folds(folds)
	if err != nil {
		return err
	}
	seeds := make([]replayed, s.cfg.Seeds)
	busy := pool.New().WithErrors().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(runtime.GOMAXPROCS(0))
	for seed := range seeds {
		train, test := divide(samples, parts[seed%len(parts)])
		if len(train) == 0 || len(test) == 0 {
			return errors.New("a fold leaves no query to learn from, or none to measure on")
		}
		at := split{train: train}
		for _, i := range test {
			at.test = append(at.test, samples[i])
		}
		busy.Go(func(ctx context.Context) (err error) {
			if seeds[seed], err = s.replay(ctx, uint64(seed), at); err != nil {
				err = fmt.Errorf("seed %d: %w", seed, err)
			}
			return err
		})
	}
	if err := busy.Wait(); err != nil {
		return err
	}
	for i := range seeds {
		s.add(&seeds[i], 1/float64(len(seeds)))
	}
	if gain := s.out.FullLabels - s.out.Start; gain != 0 {
		s.out.GainShare = (s.out.Clicks - s.out.Start) / gain
	}
	if s.out.Drift != nil {
		s.out.Drift.settle(s.cfg.Rounds / 2)
	}
	return nil
}

// replayed is the result of one seed.
type replayed struct {
	Outcome
	curve []LearningPoint // of clicks
	drift *Drift          // if asked for: its curve, and the NDCG by all labels
}

// replay has the users of every scenario teach a trainer of their own, side by side.
func (s *simulator) replay(ctx context.Context, seed uint64, at split) (r replayed, err error) {
	base, err := s.baseModel()
	if err != nil {
		return r, err
	}
	r.Start = s.ndcg(at.test, &base, nil)
	if r.FullLabels, err = s.labelled(ctx, &base, at); err != nil {
		return r, err
	}
	runs := pool.New().WithErrors().WithContext(ctx).WithCancelOnError().WithFirstError()
	learn := func(scenario simulation.Scenario, learned func(trace) error) {
		runs.Go(func(ctx context.Context) error {
			t, err := s.simulate(ctx, seed, at, nil, scenario)
			if err != nil {
				return err
			}
			return learned(t)
		})
	}
	end := func(of *float64) func(trace) error {
		return func(t trace) error { *of = atEnd(t.curve); return nil }
	}
	learn(simulation.Scenario{}, func(t trace) (err error) {
		r.Clicks, r.curve = atEnd(t.curve), t.curve
		r.ShownLabels, err = s.labelled(ctx, &base, split{t.shown.labels(at.train), at.test})
		return err
	})
	learn(simulation.Scenario{Hostile: 0.2}, end(&r.Attack20))
	learn(simulation.Scenario{Restless: restless}, end(&r.AttackOne))
	if s.cfg.Silent {
		learn(simulation.Scenario{Silent: 0.2}, end(&r.Silent20))
	}
	if s.cfg.Thorough {
		learn(simulation.Scenario{Thorough: true}, end(&r.Thorough))
	}
	if s.cfg.Invented {
		for of, apps := range map[*Invented]int{&r.Invented: apps, &r.InventedAmong: 0} {
			learn(simulation.Scenario{Restless: restless, Invented: invented, Apps: apps}, func(t trace) error {
				*of = Invented{Before: t.wanted[0], After: t.wanted[len(t.wanted)-1], NDCG: atEnd(t.curve)}
				return nil
			})
		}
	}
	if s.cfg.Drift {
		runs.Go(func(ctx context.Context) (err error) {
			r.drift, err = s.drift(ctx, seed, &base, at)
			return err
		})
	}
	err = runs.Wait()
	return r, err
}

// labelled is the NDCG of the test queries by a model learned from the labels of the others.
func (s *simulator) labelled(ctx context.Context, base *fusion.Model, at split) (float64, error) {
	fitted, err := s.Fit(ctx, *base, at.train, s.Settings.Usage == On)
	if err != nil {
		return 0, err
	}
	return s.ndcg(at.test, &fitted.Model, fitted.Usage), nil
}

// add adds a seed's share to the means.
func (s *simulator) add(r *replayed, share float64) {
	s.out.Each = append(s.out.Each, r.Outcome)
	s.out.Start += r.Start * share
	s.out.FullLabels += r.FullLabels * share
	s.out.ShownLabels += r.ShownLabels * share
	s.out.Clicks += r.Clicks * share
	s.out.Attack20 += r.Attack20 * share
	s.out.AttackOne += r.AttackOne * share
	s.out.Invented.add(&r.Invented, share)
	s.out.InventedAmong.add(&r.InventedAmong, share)
	s.out.Silent20 += r.Silent20 * share
	s.out.Thorough += r.Thorough * share
	s.out.Curve = added(s.out.Curve, r.curve, share)
	if r.drift == nil {
		return
	}
	if s.out.Drift == nil {
		s.out.Drift = &Drift{}
	}
	s.out.Drift.FullLabels += r.drift.FullLabels * share
	s.out.Drift.Curve = added(s.out.Drift.Curve, r.drift.Curve, share)
}

func (i *Invented) add(other *Invented, share float64) {
	i.Before += other.Before * share
	i.After += other.After * share
	i.NDCG += other.NDCG * share
}

// added returns the sum of curves with a share of another.
func added(sum, curve []LearningPoint, share float64) []LearningPoint {
	if sum == nil {
		sum = make([]LearningPoint, len(curve))
	}
	for i, p := range curve {
		sum[i].Events += p.Events * share
		sum[i].NDCG += p.NDCG * share
	}
	return sum
}

// ndcg is how well queries rank.
func (s *simulator) ndcg(test []Sample, m *fusion.Model, usage *schema.Usage) float64 {
	used := usageOf(usage)
	var sum float64
	for i := range test {
		sample := &test[i]
		ranked := s.order(sample, m, used, nil)
		judged := relevance.Judge(sample.Query.ID, relevance.JudgeTools(sample.Query.Labels), ranked)
		sum += judged.Metrics.Of("ndcg@10")
	}
	return sum / float64(len(test))
}
