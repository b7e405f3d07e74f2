package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/simulation"
	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/trainer"
)

// How simulated users behave.
const (
	pause    = time.Minute // between two searches
	together = 32          // searches before their feedback comes
	restless = 5           // searches of the user who never stops, in a pause
	looked   = 10          // results that are shown
	allShown = 100         // to those who look at all of them
)

// lived is what a crowd leaves.
type lived struct {
	curve []LearningPoint
	shown shown
}

// shown is which entities were shown for a query, by their ids.
type shown map[string]map[string]bool

// live lets users search and click for all rounds, and measures after each. From
// half time on, which is measured twice then, what is right is what later says; nil
// for no change.
func (s *simulator) live(ctx context.Context, seed uint64, at taught, later *taught, scenario simulation.Scenario) (out lived, err error) {
	l, err := s.newLive(seed, at.train, scenario)
	if err != nil {
		return lived{}, err
	}
	out.shown = l.shown
	ctx, cancel := context.WithCancel(ctx)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return l.query.Run(gctx) })
	g.Go(func() error { return l.trainer.Run(gctx) })
	defer func() {
		cancel()
		err = errors.Join(err, g.Wait())
	}()
	if err := l.world.Await(gctx, 2, 3); err != nil {
		return lived{}, err
	}
	measure := func() error {
		m, usage, err := l.learned(gctx)
		out.curve = append(out.curve, LearningPoint{Events: float64(l.events), NDCG: s.ndcg(at.test, &m, usage)})
		return err
	}
	for round := range s.cfg.Rounds + 1 {
		if round > 0 {
			if err := l.round(gctx, at.train); err != nil {
				return lived{}, err
			}
			s.over()
		}
		if err := measure(); err != nil {
			return lived{}, err
		}
		if later != nil && round == s.cfg.Rounds/2 {
			at = *later
			if err := measure(); err != nil {
				return lived{}, err
			}
		}
	}
	return out, nil
}

// live is a trainer and a query service at work in a world of their own.
type live struct {
	seed     uint64
	rng      *rand.Rand // of who asks what
	pests    *rand.Rand // of what hostile users want
	world    *simulation.World
	query    *query.Service
	trainer  *trainer.Service
	users    []simulation.User
	one      simulation.User // who never stops
	scenario simulation.Scenario
	shown    shown
	ids      int // of searches
	asks     int // of the users who take turns
	events   int // of feedback
}

func (s *simulator) newLive(seed uint64, train []evaluation.Sample, scenario simulation.Scenario) (*live, error) {
	rng, pests := rand.New(rand.NewPCG(seed, uint64(len(train)))), rand.New(rand.NewPCG(seed, 1<<32))
	wanted := wantedTools(train)
	l := &live{
		shown: shown{}, seed: seed, rng: rng, pests: pests, world: simulation.NewWorld(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), scenario: scenario,
		users: simulation.Crowd(pests, s.cfg.Users, scenario, wanted),
		one:   simulation.User{Name: "restless", Hostile: true, Wants: wanted[pests.IntN(len(wanted))]},
	}
	log, metrics, r := slog.New(slog.DiscardHandler), prometheus.NewRegistry(), s.registry
	var err error
	l.query, err = query.New(query.Config{Model: s.Settings.Model, Timeout: evalTimeout, EmbedTimeout: evalTimeout, Shadow: 1}, query.Deps{
		Index: r.index, Catalogue: r.index, Embedder: r.encoder, Publisher: l.world, Watcher: l.world,
		Now: l.world.Now, NewID: l.newID, Logger: log, Registerer: metrics,
	})
	if err != nil {
		return nil, err
	}
	learning := trainerConfig(s.Config.Trainer, s.Settings.Model)
	learning.Tick = evalTimeout // round lets it advance
	l.trainer, err = trainer.New(learning, trainer.Deps{
		Follower: l.world, Publisher: l.world, State: simulation.State{}, Store: l.world, Now: l.world.Now, Logger: log, Registerer: metrics,
	})
	return l, err
}

// wantedTools are what hostile users may want to be found: the tools that are
// candidates of the first query, in the order of their ids.
func wantedTools(train []evaluation.Sample) []string {
	var ids []string
	for _, c := range train[0].Candidates {
		ids = append(ids, c.ID)
	}
	slices.Sort(ids)
	return ids
}

func (l *live) newID() string {
	l.ids++
	return fmt.Sprintf("s%08d", l.ids)
}

// round lets users ask every query once, in an order of its own.
func (l *live) round(ctx context.Context, train []evaluation.Sample) error {
	order := l.rng.Perm(len(train))
	for chunk := range slices.Chunk(order, together) {
		var feedback []schema.Feedback
		searches := 0
		for _, i := range chunk {
			l.asks++
			asking := []*simulation.User{&l.users[l.rng.IntN(len(l.users))]}
			asked := []*evaluation.Sample{&train[i]}
			for range l.scenario.Restless {
				asking, asked = append(asking, &l.one), append(asked, &train[l.pests.IntN(len(train))])
			}
			for n, user := range asking {
				clicks, shown, err := l.search(ctx, user, asked[n], rand.New(rand.NewPCG(l.seed, uint64(l.asks))))
				if err != nil {
					return err
				}
				feedback = append(feedback, clicks...)
				if shown {
					searches++
				}
			}
			l.world.Pass(pause)
		}
		if err := l.learn(ctx, searches, feedback); err != nil {
			return err
		}
	}
	return nil
}

// search lets a user ask a query, and returns what the user clicked, and whether
// anything was shown. What a user does depends on nobody else's chance.
func (l *live) search(ctx context.Context, user *simulation.User, asked *evaluation.Sample, rng *rand.Rand) (clicks []schema.Feedback, shown bool, err error) {
	k := looked
	if user.Thorough {
		k = allShown
	}
	resp, err := l.query.Search(ctx, tenant.Default, schema.SearchRequest{Query: asked.Query.Text, K: k})
	if err != nil {
		return nil, false, err
	}
	ids := make([]string, len(resp.Results))
	for i := range ids {
		ids[i] = resp.Results[i].ID
	}
	l.shown.add(asked.Query.ID, ids)
	for _, i := range user.Clicks(rng, ids, relevantTo(asked)) {
		clicks = append(clicks, schema.Feedback{SearchID: resp.SearchID, ToolID: ids[i], Event: schema.Called, Client: user.Name})
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

// labels returns queries with the labels of what was shown for them: all that
// anybody can teach who judges what is shown.
func (s shown) labels(train []evaluation.Sample) []evaluation.Sample {
	out := slices.Clone(train)
	for i := range out {
		q := &out[i]
		was := s[q.Query.ID]
		q.Query.Labels = slices.DeleteFunc(slices.Clone(q.Query.Labels), func(l dataset.Label) bool {
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

// relevantTo reports which tools a query asks for: a label's tool, or one that
// does as well.
func relevantTo(asked *evaluation.Sample) func(id string) bool {
	return func(id string) bool {
		for _, label := range asked.Query.Labels {
			if label.Relevance > 0 && (label.ID == id || slices.Contains(label.Alternatives, id)) {
				return true
			}
		}
		return false
	}
}

// learn hands the trainer so many searches, then the feedback, and lets it learn
// and publish.
func (l *live) learn(ctx context.Context, searches int, feedback []schema.Feedback) error {
	if err := l.world.Deliver(ctx, events.Searches, searches); err != nil {
		return err
	}
	for _, f := range feedback {
		if err := l.query.Feedback(ctx, tenant.Default, f); err != nil {
			return err
		}
	}
	l.events += len(feedback)
	if err := l.world.Deliver(ctx, events.FeedbackTopic, len(feedback)); err != nil {
		return err
	}
	l.world.Pass(pause)
	return l.trainer.Advance(ctx)
}

// learned returns what searches rank by now.
func (l *live) learned(ctx context.Context) (fusion.Model, *schema.Usage, error) {
	w, err := l.trainer.Live(tenant.Default)
	if err != nil {
		return fusion.Model{}, nil, err
	}
	m, err := fusion.ModelOf(w)
	if err != nil {
		return fusion.Model{}, nil, err
	}
	raw, err := l.world.Get(ctx, trainer.UsageKey(tenant.Default))
	if err != nil || raw == nil {
		return m, nil, err
	}
	usage := &schema.Usage{}
	return m, usage, json.Unmarshal(raw, usage)
}
