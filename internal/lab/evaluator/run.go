package evaluator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/lab/simulation"
	"github.com/toolstream/toolstream/internal/server"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/query/search"
	"github.com/toolstream/toolstream/services/trainer"
)

// How simulated users behave.
const (
	pause    = time.Minute // between two searches
	together = 32          // searches before their feedback comes
	restless = 5           // searches of the user who never stops, in a pause
	invented = 50          // names of this user, if he takes several
	apps     = 10          // credentials of the others, if he has his own
	looked   = 10          // results that are shown
	allShown = 100         // results shown to users who look at everything
)

// trace is the record of a run.
type trace struct {
	curve  []LearningPoint
	shown  shown
	wanted []float64 // of a hostile user with invented names, as the curve: see Invented
}

// shown holds the ids of the entities that were shown for a query.
type shown map[string]map[string]bool

// simulate has users search and click for all rounds, and measures after each. From half time
// on, which it then measures twice, the labels are later's; nil means no change.
func (s *simulator) simulate(ctx context.Context, seed uint64, at split, later *split, scenario simulation.Scenario) (out trace, err error) {
	r, err := s.newRun(seed, at, scenario)
	if err != nil {
		return trace{}, err
	}
	out.shown = r.shown
	ctx, cancel := context.WithCancel(ctx)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.query.Run(gctx) })
	g.Go(func() error { return r.trainer.Run(gctx) })
	defer func() {
		cancel()
		err = errors.Join(err, g.Wait())
	}()
	if err := r.bus.Await(gctx, 2, 2); err != nil {
		return trace{}, err
	}
	all := slices.Concat(at.train, at.test)
	measure := func() error {
		m, usage, err := r.learned(gctx)
		if scenario.Invented > 0 {
			out.wanted = append(out.wanted, s.amongFive(all, r.one.Wants, &m, usage))
		}
		out.curve = append(out.curve, LearningPoint{Events: float64(r.events), NDCG: s.ndcg(at.test, &m, usage)})
		return err
	}
	for round := range s.cfg.Rounds + 1 {
		if round > 0 {
			if err := r.round(gctx, at.train); err != nil {
				return trace{}, err
			}
			runs := 3 // as in replay
			for _, more := range []bool{s.cfg.Silent, s.cfg.Thorough, s.cfg.Invented, s.cfg.Invented, s.cfg.Drift} {
				if more {
					runs++
				}
			}
			s.progress("simulating", int(s.rounds.Add(1)), s.cfg.Seeds*runs*s.cfg.Rounds)
		}
		if err := measure(); err != nil {
			return trace{}, err
		}
		if later != nil && round == s.cfg.Rounds/2 {
			at = *later
			if err := measure(); err != nil {
				return trace{}, err
			}
		}
	}
	return out, nil
}

// run is a trainer and a query service at work on a bus of their own.
type run struct {
	seed     uint64
	rng      *rand.Rand // decides the order of users and queries
	spammers *rand.Rand // chance of hostile users
	bus      *simulation.Bus
	query    *query.Service
	trainer  *trainer.Service
	users    []simulation.User
	one      simulation.User // never stops
	scenario simulation.Scenario
	shown    shown
	ids      uint64 // of searches
	asks     int    // of the users who take turns
	names    int    // that the hostile user took
	events   int    // of feedback
}

func (s *simulator) newRun(seed uint64, at split, scenario simulation.Scenario) (*run, error) {
	train := at.train
	rng, spammers := rand.New(rand.NewPCG(seed, uint64(len(train)))), rand.New(rand.NewPCG(seed, 1<<32))
	var wanted []string // the candidates of the first query: the tools that hostile users may promote
	for _, c := range train[0].Candidates {
		wanted = append(wanted, c.ID)
	}
	slices.Sort(wanted)
	r := &run{
		shown: shown{}, seed: seed, rng: rng, spammers: spammers, bus: simulation.NewBus(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), scenario: scenario,
		users: simulation.Crowd(spammers, s.cfg.Users, scenario, wanted),
		one:   simulation.User{Name: "restless", Hostile: true, Wants: wanted[spammers.IntN(len(wanted))]},
	}
	if scenario.Invented > 0 {
		r.one = simulation.User{Hostile: true, Patient: true, Wants: s.useless(slices.Concat(at.train, at.test))}
	}
	log, metrics := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	var err error
	r.query, err = query.New(search.Config{Timeout: evalTimeout, EmbedTimeout: evalTimeout}, query.Deps{
		Snapshot:  search.Snapshot{Model: s.Settings.Model, Index: s.index, Catalogue: s.index, Embedder: s.encoder},
		Publisher: r.bus, Watcher: r.bus,
		Now: r.bus.Now, Nonce: r.nonce, Logger: log, Registerer: metrics,
	})
	if err != nil {
		return nil, err
	}
	learning := server.TrainerConfig(s.Config.Trainer, s.Settings.Model)
	learning.Tick = evalTimeout // round advances it
	r.trainer, err = trainer.New(learning, trainer.Deps{
		Follower: r.bus, Publisher: r.bus, State: simulation.State{}, Store: r.bus, Now: r.bus.Now, Logger: log, Registerer: metrics,
	})
	return r, err
}

// useless returns the tool that is shown for the most queries although no query asks for it.
func (s *simulator) useless(samples []Sample) (most string) {
	base, err := s.baseModel()
	if err != nil {
		return ""
	}
	shown := map[string]int{}
	for i := range samples {
		ranked := s.order(&samples[i], &base, usageOf(nil), nil)
		for _, r := range ranked[:min(looked, len(ranked))] {
			shown[r.ID]++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(shown)) {
		asked := slices.ContainsFunc(samples, func(s Sample) bool { return relevantTo(&s)(id) })
		if !asked && shown[id] > shown[most] {
			most = id
		}
	}
	return most
}

// amongFive returns the share of the queries that have a tool among the first five.
func (s *simulator) amongFive(samples []Sample, tool string, m *fusion.Model, usage *schema.Usage) float64 {
	used, n := usageOf(usage), 0
	for i := range samples {
		ranked := s.order(&samples[i], m, used, nil)
		if slices.ContainsFunc(ranked[:min(5, len(ranked))], func(r relevance.Ranked) bool { return r.ID == tool }) {
			n++
		}
	}
	return float64(n) / float64(len(samples))
}

func (r *run) nonce() uint64 {
	r.ids++
	return r.ids
}

// round has users ask every query once, in an order of its own.
func (r *run) round(ctx context.Context, train []Sample) error {
	order := r.rng.Perm(len(train))
	for chunk := range slices.Chunk(order, together) {
		var feedback []schema.Feedback
		searches := 0
		for _, i := range chunk {
			r.asks++
			asking := []*simulation.User{&r.users[r.rng.IntN(len(r.users))]}
			asked := []*Sample{&train[i]}
			for range r.scenario.Restless {
				one := r.one
				if r.scenario.Invented > 0 {
					r.names++
					one.Name = fmt.Sprintf("invented-%d", r.names%r.scenario.Invented)
				}
				asking, asked = append(asking, &one), append(asked, &train[r.spammers.IntN(len(train))])
			}
			for n, user := range asking {
				clicks, shown, err := r.search(ctx, user, asked[n], rand.New(rand.NewPCG(r.seed, uint64(r.asks))))
				if err != nil {
					return err
				}
				feedback = append(feedback, clicks...)
				if shown {
					searches++
				}
			}
			r.bus.Pass(pause)
		}
		if err := r.learn(ctx, searches, feedback); err != nil {
			return err
		}
	}
	return nil
}

// search has a user ask a query, and returns the user's clicks, and whether anything was
// shown. A user's actions do not depend on any other user's chance.
func (r *run) search(ctx context.Context, user *simulation.User, asked *Sample, rng *rand.Rand) (clicks []schema.Feedback, shown bool, err error) {
	k := looked
	if user.Thorough {
		k = allShown
	}
	each := false // tools are judged one by one
	resp, err := r.query.Search(ctx, identity.Anybody, schema.SearchRequest{Query: asked.Query.Text, K: k, Collapse: &each})
	if err != nil {
		return nil, false, err
	}
	ids := make([]string, len(resp.Results))
	for i := range ids {
		ids[i] = resp.Results[i].ID
	}
	r.shown.add(asked.Query.ID, ids)
	for _, i := range user.Clicks(rng, ids, relevantTo(asked)) {
		clicks = append(clicks, schema.Feedback{SearchID: resp.SearchID, ToolID: ids[i], Event: schema.Called, Client: user.Name, Credential: user.App})
	}
	return clicks, len(ids) > 0, nil
}

func (s shown) add(query string, ids []string) {
	if s[query] == nil {
		s[query] = map[string]bool{}
	}
	for _, id := range ids {
		s[query][id] = true
	}
}

// labels returns queries with the labels of the shown tools only: the most that users can
// teach by judging their results.
func (s shown) labels(train []Sample) []Sample {
	out := slices.Clone(train)
	for i := range out {
		q := &out[i]
		was := s[q.Query.ID]
		q.Query.Labels = slices.DeleteFunc(slices.Clone(q.Query.Labels), func(l relevance.Label) bool {
			return !was[l.ID] && !slices.ContainsFunc(l.Alternatives, func(id string) bool { return was[id] })
		})
		q.Relevance = slices.Clone(q.Relevance)
		for j, c := range q.Candidates {
			if !was[c.ID] {
				q.Relevance[j] = 0
			}
		}
	}
	return out
}

// relevantTo reports whether a query asks for a tool: a label's tool, or an alternative of it.
func relevantTo(asked *Sample) func(id string) bool {
	return func(id string) bool {
		for _, label := range asked.Query.Labels {
			if label.Relevance > 0 && (label.ID == id || slices.Contains(label.Alternatives, id)) {
				return true
			}
		}
		return false
	}
}

// learn hands the trainer so many searches, then the feedback, and has it learn and publish.
func (r *run) learn(ctx context.Context, searches int, feedback []schema.Feedback) error {
	if err := r.bus.Deliver(ctx, events.Searches, searches); err != nil {
		return err
	}
	for _, f := range feedback {
		if err := r.query.Feedback(identity.With(ctx, identity.Caller{Subject: f.Credential}), identity.DefaultTenant, f); err != nil {
			return err
		}
	}
	r.events += len(feedback)
	if err := r.bus.Deliver(ctx, events.FeedbackTopic, len(feedback)); err != nil {
		return err
	}
	r.bus.Pass(pause)
	return r.trainer.Advance(ctx)
}

// learned returns the model and the usage that searches now rank by.
func (r *run) learned(ctx context.Context) (fusion.Model, *schema.Usage, error) {
	w, _, err := r.trainer.Weights.Live(identity.DefaultTenant)
	if err != nil {
		return fusion.Model{}, nil, err
	}
	m, err := fusion.ModelOf(w)
	if err != nil {
		return fusion.Model{}, nil, err
	}
	e, err := r.bus.Get(ctx, trainer.UsageKey(identity.DefaultTenant))
	if errors.Is(err, stream.ErrNotFound) {
		return m, nil, nil
	}
	usage := &schema.Usage{}
	return m, usage, json.Unmarshal(e.Value, usage)
}
