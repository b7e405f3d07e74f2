package trainer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/stream/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// settled is how long it takes until what was read is learned from.
const settled = 2 * time.Minute

// errKilled is what a process that is gone gets of everything outside it.
var errKilled = errors.New("killed")

// life is one process of the trainer, until it is killed: with the last durable
// write that it has left, before that or just after.
type life struct {
	cut  int  // writes until the end; 0: it lives on
	done bool // the last write is still made

	mu     sync.Mutex
	writes int
	dead   chan struct{}
}

func newLife(cut int, done bool) *life { return &life{cut: cut, done: done, dead: make(chan struct{})} }

// write makes a durable write, if the process lives to see it.
func (l *life) write(do func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.dead:
		return errKilled
	default:
	}
	l.writes++
	if l.writes != l.cut {
		return do()
	}
	close(l.dead)
	if l.done {
		_ = do() // nobody is there to hear of it
	}
	return errKilled
}

// The world outside a process, as it reaches it.
type (
	mortalState struct {
		State
		*life
	}
	mortalStore struct {
		Store
		*life
	}
	mortalBus struct {
		stream.Publisher
		*life
	}
)

func (m mortalState) Save(changes map[string][]byte) error {
	return m.write(func() error { return m.State.Save(changes) })
}

func (m mortalStore) Put(ctx context.Context, key string, value []byte) error {
	return m.write(func() error { return m.Store.Put(ctx, key, value) })
}

func (m mortalStore) Delete(ctx context.Context, key string) error {
	return m.write(func() error { return m.Store.Delete(ctx, key) })
}

func (m mortalBus) Publish(ctx context.Context, msgs ...stream.Message) error {
	return m.write(func() error { return m.Publisher.Publish(ctx, msgs...) })
}

// scene is what outlives the processes: bus, state, store and clock.
type scene struct {
	t     *testing.T
	cfg   Config
	next  func() *life // the next process's
	bus   *streamtest.Bus
	state *records
	store *shelf
	saved chan struct{} // told of every Save, if nobody was yet

	mu  sync.Mutex
	now time.Time

	life    *life
	service *Service
	stop    func()
	lives   int
	writes  int // of the lives that ended
}

func newScene(t *testing.T, cfg Config, next func() *life) *scene {
	s := &scene{
		t: t, cfg: cfg, next: next, bus: streamtest.NewBus(), state: newRecords(), store: newShelf(),
		saved: make(chan struct{}, 1), now: time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC),
	}
	s.start()
	return s
}

func (s *scene) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *scene) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// watchedState tells the scene of every Save.
type watchedState struct {
	State
	saved chan struct{}
}

func (w watchedState) Save(changes map[string][]byte) error {
	err := w.State.Save(changes)
	select {
	case w.saved <- struct{}{}:
	default:
	}
	return err
}

// start runs the next process.
func (s *scene) start() {
	s.life = s.next()
	s.lives++
	svc, err := New(s.cfg, Deps{
		Follower: s.bus, Publisher: mortalBus{s.bus, s.life},
		State: mortalState{watchedState{s.state, s.saved}, s.life}, Store: mortalStore{s.store, s.life},
		Now: s.clock, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- svc.Run(ctx) }()
	s.service = svc
	s.stop = func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
		s.writes += s.life.writes
	}
}

// until waits for what a process is to have done, and starts another one for
// each that is killed meanwhile.
func (s *scene) until(done func() bool) {
	for !done() {
		select {
		case <-s.life.dead:
			s.stop()
			s.start()
		case <-s.saved:
		}
	}
}

// read waits until everything on the bus was read.
func (s *scene) read() {
	s.until(func() bool {
		for _, topic := range []events.Topic{events.Searches, events.FeedbackTopic} {
			end := fmt.Sprint(len(s.bus.Published(topic)))
			if at, _ := s.state.Get(keyPosition + string(topic) + "/0"); string(at) != end && end != "0" {
				return false
			}
		}
		return true
	})
}

// advance lets some time pass, by which what was read settles, and all of it be learned
// from and published.
func (s *scene) advance(by time.Duration) {
	s.pass(by) // at once: a process may tick at any moment
	for s.service.Advance(context.Background()) != nil {
		<-s.life.dead // nothing else fails
		s.stop()
		s.start()
	}
}

// publish puts records on the bus: in one go, so that a process can end between
// any two of its writes about them.
func (s *scene) publish(topic events.Topic, key string, value []byte) {
	s.t.Helper()
	if err := s.bus.Publish(context.Background(), stream.Message{Topic: topic, Key: key, Value: value}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) search(i schema.Impression) {
	value, err := events.EncodeImpression(&i)
	if err != nil {
		s.t.Fatal(err)
	}
	s.publish(events.Searches, events.SearchKey(i.Tenant, i.SearchID), value)
}

func (s *scene) feedback(f schema.Feedback) {
	value, err := events.EncodeFeedback(&f)
	if err != nil {
		s.t.Fatal(err)
	}
	s.publish(events.FeedbackTopic, events.SearchKey(f.Tenant, f.SearchID), value)
}

// play is what happens to the trainer, the same in every scene: searches whose
// feedback comes late, early, twice, in two goes and from several clients, of two
// tenants, with records among them that nobody can read.
func (s *scene) play(rounds int) {
	rng := rand.New(rand.NewPCG(7, 7))
	b := &bench{t: s.t}
	for round := range rounds {
		b.now = s.clock()
		var early, late []schema.Feedback
		for i := range 6 {
			imp := b.impression(fmt.Sprintf("r%ds%d", round, i), "wordy", "right", "other", "more")
			imp.Tenant = []string{"default", "default", "second"}[i%3]
			imp.Model, imp.Vector = "m", axis(rng.IntN(3))
			imp.Signals = make([]float64, rerank.SignalCount)
			imp.Signals[0] = float64(round)
			imp.Shadow = s.shadow(imp.Tenant)
			used := []string{"right", "right", "other", "wordy"}[rng.IntN(4)]
			f := schema.Feedback{
				Tenant: imp.Tenant, SearchID: imp.SearchID, ToolID: used, Event: schema.Called,
				Client: fmt.Sprint("c", rng.IntN(8)), Time: b.now,
			}
			more := f
			more.ToolID, more.Event = "more", schema.Succeeded
			if i == 0 { // before its search, and again after it
				s.feedback(f)
			}
			early, late = append(early, f), append(late, more)
			s.read()
			s.search(imp)
		}
		s.publish(events.Searches, "default/bad", []byte(`{"schema":99}`))
		s.publish(events.FeedbackTopic, "default/bad", []byte("?"))
		s.read()
		for _, f := range early {
			s.feedback(f)
		}
		s.read()
		s.pass(time.Second) // less than it takes to settle
		for i, f := range late {
			if i%2 == 0 {
				f.Time = s.clock()
				s.feedback(f)
			}
		}
		s.read()
		s.advance(settled)
	}
	s.advance(refreshUsage + settled) // usage of the same moment in every scene
}

// shadow is what a searcher says of the weights that it finds on trial.
func (s *scene) shadow(tenant string) *schema.Shadow {
	raw, _ := s.store.Get(context.Background(), shadowKey+schema.ModelOwner(tenant, "m"))
	if raw == nil {
		return nil
	}
	var w schema.Weights
	if err := json.Unmarshal(raw, &w); err != nil {
		s.t.Fatal(err)
	}
	return &schema.Shadow{Weights: w.Version, Ranks: []int{2, 1, 3, 4}}
}

// outcome is what the scene left: what was counted and learned, and what was
// published of it. How often usage was published is left out: a new process
// publishes it once more.
func (s *scene) outcome() map[string]string {
	out := map[string]string{}
	for key, value := range s.state.values {
		if strings.HasPrefix(key, keyTenant) {
			value = learnedOf(s.t, value)
		}
		out["state "+key] = value
	}
	for key, value := range s.store.values {
		if strings.HasPrefix(key, usageKey) {
			var u schema.Usage
			if err := json.Unmarshal(value, &u); err != nil {
				s.t.Fatal(err)
			}
			u.Epoch = 0
			value, _ = json.Marshal(u)
		}
		out["store "+key] = string(bytes.Clone(value))
	}
	return out
}

// TestAKilledTrainerLearnsWhatAnUndisturbedOneDoes kills the trainer between, in
// the middle of and right after its durable writes, and compares what it knew in
// the end, byte for byte.
func TestAKilledTrainerLearnsWhatAnUndisturbedOneDoes(t *testing.T) {
	const rounds, seeds = 6, 50
	cfg := quick()
	cfg.Model, cfg.Tick, cfg.Sample, cfg.Keep, cfg.Shadow = "m", 5*time.Millisecond, 4, 4, time.Hour
	play := func(next func() *life) *scene {
		s := newScene(t, cfg, next)
		defer func() { s.stop() }()
		s.play(rounds)
		return s
	}
	undisturbed := play(func() *life { return newLife(0, false) })
	want, writes := undisturbed.outcome(), undisturbed.writes
	if !slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(key string) bool { return strings.HasPrefix(key, "store "+liveKey) }) {
		t.Fatal("nothing was learned")
	}
	kills := 0
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := play(func() *life { return newLife(1+rng.IntN(writes/2), rng.IntN(2) == 0) })
		kills += s.lives - 1
		differ(t, fmt.Sprintf("seed %d, killed %d times", seed, s.lives-1), s.outcome(), want)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d writes, killed %d times in %d runs", writes, kills, seeds)
	if kills < seeds {
		t.Fatalf("killed %d times in %d runs", kills, seeds)
	}
}

func differ(t *testing.T, name string, got, want map[string]string) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			at := 0
			for at < min(len(got[key]), len(want[key])) && got[key][at] == want[key][at] {
				at++
			}
			t.Errorf("%s: %s is\n%.300s\nwant\n%.300s\nfrom byte %d on", name, key, got[key][at:], want[key][at:], at)
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			t.Errorf("%s: %s is there", name, key)
		}
	}
}
