package trainer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/localkv"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// second returns another trainer on the same store, with a state of its own.
func (b *bench) second() *bench {
	other := &bench{t: b.t, state: newRecords(), store: b.store, bus: b.bus, now: b.now, offsets: map[events.Topic]uint64{}}
	other.restart(b.cfg)
	return other
}

// A trainer that was paused while another one took over overwrites nothing when it
// resumes: neither newer weights, nor a pin, nor newer usage. It goes on from what the
// store has.
func TestAPausedTrainerOverwritesNothing(t *testing.T) {
	for what, change := range map[string]func(*bench) (schema.Weights, error){
		"newer weights": func(b *bench) (schema.Weights, error) { return b.Promote(t.Context(), "default", "heuristic") },
		"a pin":         func(b *bench) (schema.Weights, error) { return b.Pin(t.Context(), "default", "live") },
	} {
		paused := newBench(t, Config{Refit: 60})
		paused.teach("s", 60)
		other := paused.second()
		other.advance()
		check.Value(change(other))(t)
		other.teach("usage of the other", 2)
		want, usage := paused.store.live(t, "default"), paused.store.usage(t, "default")

		b := paused
		for range 3 {
			b.must(b.Service.state.update(func(m *memory) error { // it had just decided on other weights
				t := m.tenant("default")
				w, err := t.sealed("", t.live(""), "", b.now)
				if err != nil {
					return err
				}
				t.usageChanged = true
				return t.goLive(m, "", w, History{}, Replaced, "by the paused trainer")
			}))
		}
		if err := b.Advance(t.Context()); !errors.Is(err, stream.ErrConflict) {
			t.Errorf("%s: the paused trainer heard of no conflict: %v", what, err)
		}
		for range 3 { // it reads again what it could not write
			_ = b.Advance(t.Context())
		}
		if got := b.store.live(t, "default"); got.tag() != want.tag() || b.store.usage(t, "default").Epoch < usage.Epoch {
			t.Errorf("%s: live is %s, was %s", what, got.tag(), want.tag())
		}
		if _, err := b.Promote(t.Context(), "default", "builtin"); errors.Is(err, ErrPinned) != want.Pinned {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestEpochsRiseEvenIfTheStateIsLost(t *testing.T) {
	b := newBench(t, Config{})
	b.teach("s", 60)
	before, usage := b.store.live(t, "default"), b.store.usage(t, "default")
	other := b.second()
	other.advance()
	if w, _, err := other.Live("default"); err != nil || w.Version != before.Version {
		t.Fatalf("live is %s: %v", w.Version, err)
	}
	other.teach("more", 3)
	if u := b.store.usage(t, "default"); u.Epoch <= usage.Epoch {
		t.Errorf("usage epoch %d after %d", u.Epoch, usage.Epoch)
	}
	if w, err := other.Promote(t.Context(), "default", "heuristic"); err != nil || w.Epoch != before.Epoch+1 || w.Parent != before.Version {
		t.Errorf("%+v, %v", w, err)
	}
}

// Live weights that cannot be read are replaced by newer ones only.
func TestAnEpochOfDamagedWeightsIsNotGivenAgain(t *testing.T) {
	b := newBench(t, Config{})
	revision, err := b.store.Create(t.Context(), liveKey+"default", []byte(`{"epoch":7,"features":3}`))
	b.must(err)
	check.Value(b.store.Create(t.Context(), versionKey+"default.w9-00000000", []byte("{}")))(t)
	b.advance()
	if e, _ := b.store.Get(t.Context(), liveKey+"default"); e.Revision != revision {
		t.Error("the damaged weights were overwritten by nothing")
	}
	b.teach("s", 60)
	if w := b.store.live(t, "default"); w.Epoch != 10 {
		t.Errorf("epoch %d", w.Epoch)
	}
	if _, damaged, err := b.Versions(t.Context(), "default"); err != nil || len(damaged) != 1 || damaged[0].Version != "w9-00000000" {
		t.Errorf("%+v, %v", damaged, err)
	}
}

// What the store refuses for one tenant is tried again, and keeps no other tenant back.
func TestAStoreThatFailsIsTriedAgain(t *testing.T) {
	b := newBench(t, Config{})
	down := errors.New("down")
	b.store.fail = func(key string) error {
		if strings.HasSuffix(key, "default") {
			return down
		}
		return nil
	}
	b.must(b.show(b.impression("s", "a", "b")))
	other := b.impression("s", "a", "b")
	other.Tenant = "other"
	b.must(b.show(other))
	f, g := b.feedback("s", "b", schema.Called), b.feedback("s", "b", schema.Called)
	g.Tenant = "other"
	b.must(b.report(f, g))
	if err := b.Advance(t.Context()); !errors.Is(err, down) {
		t.Fatal(err)
	}
	if b.store.usage(t, "other").Prior["b"] == 0 {
		t.Error("one tenant kept another back")
	}
	b.store.fail = nil
	b.advance()
	if b.store.usage(t, "default").Prior["b"] == 0 {
		t.Error("usage was not published again")
	}
}

func TestOldVersionsAreDeleted(t *testing.T) {
	b := newBench(t, Config{Keep: 4})
	var last schema.Weights
	for i := range 9 {
		var err error
		last, err = b.Promote(t.Context(), "default", []string{"heuristic", "builtin"}[i%2])
		b.must(err)
	}
	kept, damaged, err := b.Versions(t.Context(), "default")
	if err != nil || len(kept) != 5 || len(damaged) > 0 || kept[0].Version != last.Version || kept[0].Status != Live || kept[1].Status != Replaced {
		t.Errorf("%d versions: %+v, %v", len(kept), kept, err)
	}
	if n := len(b.publisher.stored); n > len(kept)+2 { // the live weights and the usage
		t.Errorf("the trainer remembers %d keys of the store", n)
	}
}

func TestImportedWeightsAreLiveIfTheyCanRank(t *testing.T) {
	b := newBench(t, Config{})
	given := check.Value(b.Promote(t.Context(), "default", "heuristic"))(t)
	if w, err := b.Import(t.Context(), "default", given); err != nil || w.Epoch != 2 || w.Parent != given.Version {
		t.Errorf("%+v, %v", w, err)
	}
	if w, err := b.Rollback(t.Context(), "default"); err != nil || w.Epoch != 3 || w.Parent != "builtin" {
		t.Errorf("rolled back: %+v, %v", w, err)
	}
	given.Features["query.lexical.flat"] = 1e9
	var invalid *schema.Invalid
	if _, err := b.Import(t.Context(), "default", given); !errors.As(err, &invalid) {
		t.Errorf("weights that cannot rank were taken: %v", err)
	}
}

func TestPinnedWeightsStay(t *testing.T) {
	b := newBench(t, Config{})
	pinned := check.Value(b.Pin(t.Context(), "default", "builtin"))(t)
	b.teach("s", 60)
	b.restart(Config{})
	b.advance()
	if live := b.store.live(t, "default"); live.Version != pinned.Version || !live.Pinned {
		t.Errorf("%+v", live)
	}
	if _, err := b.Rollback(t.Context(), "default"); !errors.Is(err, ErrPinned) {
		t.Error(err)
	}
	if w, err := b.Unpin(t.Context(), "default"); err != nil || w.Version != pinned.Version || b.store.live(t, "default").Pinned {
		t.Errorf("%s, %v", w.Version, err)
	}
	b.teach("more", 40)
	if live := b.store.live(t, "default"); live.Version == pinned.Version {
		t.Error("nothing replaces the weights after they were unpinned")
	}
}

func TestWeightsOfAnotherModelAreNotPromoted(t *testing.T) {
	b := newBench(t, Config{Model: "m"})
	w := check.Value(b.Promote(t.Context(), "default", "heuristic"))(t)
	b.Serve("other")
	if _, err := b.Promote(t.Context(), "default", w.Version); !errors.Is(err, ErrOtherModel) {
		t.Error(err)
	}
}

// A process that is not elected changes nothing.
func TestAStandbyPublishesNothing(t *testing.T) {
	b := newBench(t, Config{})
	var elected atomic.Bool
	b.elected = func() error {
		if !elected.Load() {
			return errors.New("another process does this work")
		}
		return nil
	}
	for name, change := range map[string]func(context.Context) error{
		"promote": func(ctx context.Context) error { _, err := b.Promote(ctx, "default", "heuristic"); return err },
		"import": func(ctx context.Context) error {
			_, err := b.Import(ctx, "default", check.Value(fusion.Preset("heuristic"))(t))
			return err
		},
		"pin":   func(ctx context.Context) error { _, err := b.Pin(ctx, "default", "live"); return err },
		"unpin": func(ctx context.Context) error { _, err := b.Unpin(ctx, "default"); return err },
	} {
		err := change(t.Context())
		if keys, _ := b.store.Keys(t.Context(), ""); err == nil || len(keys) > 0 {
			t.Errorf("%s: published %q", name, keys)
		}
	}
	elected.Store(true)
	check.Value(b.Promote(t.Context(), "default", "heuristic"))(t)
}

// routed serves the operations of a service.
func routed(s *Service) *http.ServeMux {
	mux := http.NewServeMux()
	config := huma.DefaultConfig("test", "1")
	config.CreateHooks = nil
	Routes(humago.New(mux, config), s)
	return mux
}

func TestRoutes(t *testing.T) {
	b := newBench(t, Config{})
	first := check.Value(b.Promote(t.Context(), "default", "heuristic"))(t)
	second := check.Value(b.Promote(t.Context(), "default", "builtin"))(t)
	b.search("s", 0, "ann", []string{"a", "b"}, []string{"b"})
	mux := routed(b.Service)
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/v1/weights", 200, `"live":"` + second.Version + `"`},
		{"GET", "/v1/weights/live", 200, `"version":"` + second.Version + `"`},
		{"GET", "/v1/weights/" + first.Version, 200, `"hash":"` + first.Hash + `"`},
		{"GET", "/v1/weights/builtin", 200, `"version":"builtin"`},
		{"GET", "/v1/weights/w99-00000000", 404, "no such version"},
		{"GET", "/v1/weights/w1-a%20b", 404, "no such version"},
		{"POST", "/v1/weights:rollback", 200, `"epoch":3`}, // to the first version
		{"POST", "/v1/weights:rollback", 200, `"epoch":4`}, // to the built-in weights
		{"POST", "/v1/weights:rollback", 409, "no version before"},
		{"POST", "/v1/weights/" + second.Version + "/pin", 200, `"epoch":5`},
		{"POST", "/v1/weights/" + first.Version + "/promote", 409, "pinned"},
		{"POST", "/v1/weights:unpin", 200, `"epoch":5`},
		{"POST", "/v1/weights/nonsense/promote", 404, "no such version"},
		{"GET", "/v1/usage", 200, `{"tools":[{"id":"b"`},
		{"GET", "/v1/usage?limit=1", 200, `{"tools":[{"id":"b"`},
		{"GET", "/v1/usage?id=b", 200, `"called":1`},
		{"GET", "/v1/usage?cursor=nope", 422, ""},
		{"GET", "/v1/usage?limit=0", 422, ""},
		{"GET", "/v1/usage?limit=1001", 422, ""},
	} {
		rec := httptest.NewRecorder()
		mux.ServeHTTP(rec, httptest.NewRequest(c.method, c.path, nil))
		if rec.Code != c.status || !strings.Contains(rec.Body.String(), c.body) {
			t.Errorf("%s %s: %d %s", c.method, c.path, rec.Code, rec.Body)
		}
	}
	b.store.fail = func(string) error { return errors.New("down") }
	rec := httptest.NewRecorder()
	mux.ServeHTTP(rec, httptest.NewRequest("POST", "/v1/weights/"+first.Version+"/promote", nil))
	if rec.Code != 503 {
		t.Errorf("with the store down: %d", rec.Code)
	}
}

// However often the trainer crashes, between or after its writes, nothing is lost and
// nothing counts twice.
func TestCrashesNeitherLoseNorDouble(t *testing.T) {
	run := func(b *bench, crash func() bool) {
		retry := func(do func() error) {
			for do() != nil || crash() {
				b.restart(b.cfg)
			}
		}
		for i := range 50 {
			search := fmt.Sprint("s", i)
			imp, f := b.impression(search, "wordy", "right", "other"), b.feedback(search, "right", schema.Called)
			offset := uint64(i + 1)
			feedback := func() error {
				return b.joiner.applyFeedback(t.Context(), []stream.Record[schema.Feedback]{{Decoded: f}}, map[int]uint64{0: offset})
			}
			searches := func() error {
				return b.joiner.applySearches(t.Context(), []stream.Record[schema.Impression]{{Decoded: imp}}, map[int]uint64{0: offset})
			}
			if i%2 == 0 { // feedback overtakes its search
				searches, feedback = feedback, searches
			}
			retry(searches)
			retry(feedback)
			if i%10 == 9 {
				b.now = b.now.Add(2 * time.Minute)
				retry(func() error { return b.Advance(t.Context()) })
			}
		}
		b.now = b.now.Add(2 * time.Minute)
		retry(func() error { return b.Advance(t.Context()) })
	}
	cfg := Config{MinPairs: 8, Refit: 8}
	want := newBench(t, cfg)
	run(want, func() bool { return false })
	rng := rand.New(rand.NewPCG(1, 2))
	b, broken := newBench(t, cfg), errors.New("killed")
	chance := func() error {
		if rng.IntN(4) == 0 {
			return broken
		}
		return nil
	}
	b.state.fail, b.store.fail = chance, func(string) error { return chance() }
	run(b, func() bool { return rng.IntN(4) == 0 })
	got, expected := b.store.usage(t, "default"), want.store.usage(t, "default")
	if math.Abs(got.Prior["right"]-expected.Prior["right"]) > 1e-3 || len(got.Prior) != 1 || b.store.live(t, "default").Epoch == 0 {
		t.Errorf("usage %v, without crashes %v; epoch %d", got.Prior, expected.Prior, b.store.live(t, "default").Epoch)
	}
}

// TestRunFromBusToStore runs the service as it is run, stops it in the middle and starts
// another one on the same files.
func TestRunFromBusToStore(t *testing.T) {
	bus, store := streamtest.NewPartitionedBus(3), newBucket()
	path := filepath.Join(t.TempDir(), "trainer.db")
	cfg := Config{Tick: time.Millisecond, Publish: time.Millisecond, MinPairs: 8, Refit: 8}
	for run := range 2 {
		stop := start(t, cfg, bus, store, path)
		publish(t, bus, fmt.Sprint("run", run))
		for key := range store.put {
			if key == UsageKey("default") {
				break
			}
		}
		stop()
	}
	// What the first run did not get to, the second did; nothing twice.
	stop := start(t, cfg, bus, store, path)
	defer stop()
	for {
		if prior := store.usage(t, "default").Prior["right"]; prior > 3.7 && prior < 3.72 { // log(1 + 40)
			return
		} else if prior > 3.72 {
			t.Fatalf("40 uses are log(1 + n) = %v", prior)
		}
		select {
		case <-store.put:
		case <-t.Context().Done():
			t.Fatal("not everything was counted")
		}
	}
}

// start runs a trainer and returns what stops it and waits for it.
func start(t *testing.T, cfg Config, bus *streamtest.Bus, store *bucket, path string) (stop func()) {
	t.Helper()
	state := check.Value(localkv.Open(path, slog.New(slog.DiscardHandler)))(t)
	s := check.Value(New(cfg, Deps{
		Follower: bus, Publisher: bus, State: state, Store: store, Now: time.Now,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Registerer: prometheus.NewRegistry(),
	}))(t)
	end := check.Run(t, s.Run)
	return func() {
		t.Helper()
		end()
		check.OK(t, state.Close())
	}
}

// publish puts twenty searches and their feedback on the bus, and records that cannot be
// read or stored.
func publish(t *testing.T, bus *streamtest.Bus, prefix string) {
	t.Helper()
	b := &bench{t: t, now: time.Now().UTC()}
	var msgs []stream.Message
	for i := range 20 {
		search := fmt.Sprint(prefix, "-", i)
		imp, f := b.impression(search, "wordy", "right", "other"), b.feedback(search, "right", schema.Called)
		shown := check.Value(events.Encode(&imp))(t)
		used := check.Value(events.Encode(&f))(t)
		key := "default/" + search
		msgs = append(msgs,
			stream.Message{Topic: events.FeedbackTopic, Key: key, Value: used},
			stream.Message{Topic: events.FeedbackTopic, Key: key, Value: used},
			stream.Message{Topic: events.Searches, Key: key, Value: shown})
	}
	for _, id := range []string{strings.Repeat("x", 1<<16), "a\x00b"} {
		imp := b.impression(id, "wordy", "right", "other")
		shown := check.Value(events.Encode(&imp))(t)
		msgs = append(msgs, stream.Message{Topic: events.Searches, Key: "default/bad", Value: shown})
	}
	msgs = append(msgs, stream.Message{Topic: events.Searches, Key: "default/bad", Value: []byte(`{"schema":99}`)})
	b.must(bus.Publish(context.Background(), msgs...))
}
