package trainer

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

func quick() Config {
	return Config{MinPairs: 8, NewPairs: 8, Sample: 2, Retrain: 1 << 20, Learn: fusion.LearnConfig{Batch: 4}}
}

// published teaches until n versions are out and returns them, oldest first.
func published(b *bench, n int) []schema.Weights {
	b.t.Helper()
	var out []schema.Weights
	for i := range n {
		b.teach(strings.Repeat("x", i+1), 4)
		w, err := b.Live("default")
		b.must(err)
		out = append(out, w)
	}
	return out
}

// sameContent reports whether two versions rank alike.
func sameContent(t *testing.T, a, b schema.Weights) bool {
	t.Helper()
	ma, err := fusion.ModelOf(a)
	if err != nil {
		t.Fatal(err)
	}
	mb, err := fusion.ModelOf(b)
	if err != nil {
		t.Fatal(err)
	}
	ma.Version, mb.Version = "", ""
	return ma == mb
}

// Weights that are learned for one embedding model are not served for another.
func TestWeightsOfAnotherModelAreNotPromoted(t *testing.T) {
	b := newBench(t, quick())
	b.Serve("model-a")
	b.teach("first", 40)
	learned, err := b.Live("default")
	b.must(err)
	if learned.Model != "model-a" {
		t.Fatalf("%s is of model %q: the test shows nothing", learned.Version, learned.Model)
	}
	b.Serve("model-b")
	if _, err := b.Promote(context.Background(), "default", learned.Version); !errors.Is(err, ErrOtherModel) {
		t.Errorf("promoted: %v", err)
	}
	if _, err := b.Pin(context.Background(), "default", learned.Version); !errors.Is(err, ErrOtherModel) {
		t.Errorf("pinned: %v", err)
	}
	if _, err := b.Take(context.Background(), "default", learned); !errors.Is(err, ErrOtherModel) {
		t.Errorf("taken: %v", err)
	}
	if _, err := b.Promote(context.Background(), "default", "builtin"); err != nil {
		t.Errorf("builtin: %v", err)
	}
	b.Serve("model-a")
	if _, err := b.Promote(context.Background(), "default", learned.Version); err != nil {
		t.Errorf("its own: %v", err)
	}
}

func TestRollbackWalksBackUnderNewEpochs(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, quick())
	w := published(b, 3)
	if w[2].Epoch != 3 || w[2].Parent != w[1].Version || sameContent(t, w[1], w[2]) {
		t.Fatalf("%+v", w)
	}
	for i, want := range []schema.Weights{w[1], w[0], fusion.Builtin()} {
		got, err := b.Rollback(ctx, "default")
		if err != nil {
			t.Fatal(err)
		}
		if !sameContent(t, got, want) || got.Epoch != uint64(4+i) {
			t.Fatalf("rollback %d: %+v, want the content of %s", i+1, got, want.Version)
		}
		if live, _ := b.store.weights(t, "weights.live.default"); live.Hash != got.Hash {
			t.Fatal("the store has other live weights")
		}
	}
	if _, err := b.Rollback(ctx, "default"); !errors.Is(err, ErrNoParent) {
		t.Fatalf("rolled back from the built-in weights: %v", err)
	}
}

func TestPromoteIsKeptUntilThereIsAsMuchEvidenceAgain(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, quick())
	w := published(b, 2)
	got, err := b.Promote(ctx, "default", w[1].Version) // none that is worse: it would not stay
	if err != nil || !sameContent(t, got, w[1]) || got.Epoch != 3 || got.Parent != w[1].Version {
		t.Fatalf("%+v, %v", got, err)
	}
	b.teach("few", 1)
	if live, _ := b.Live("default"); live.Hash != got.Hash {
		t.Fatal("four pairs replaced what was promoted")
	}
	b.teach("more", 3)
	live, _ := b.Live("default")
	if live.Epoch != 4 || live.Parent != got.Version {
		t.Fatalf("learning did not go on: %+v", live)
	}
	if _, err := b.Promote(ctx, "default", "w9-00000000"); !errors.Is(err, ErrUnknownVersion) {
		t.Fatal(err)
	}
	if got, err := b.Promote(ctx, "default", "heuristic"); err != nil || !sameContent(t, got, fusion.Heuristic()) {
		t.Fatal(err)
	}
}

func TestTakeMakesGivenWeightsLive(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, quick())
	w := published(b, 1)
	given := fusion.Heuristic()
	got, err := b.Take(ctx, "default", given)
	if err != nil || !sameContent(t, got, given) || got.Epoch != 2 || got.Parent != w[0].Version {
		t.Fatalf("%+v, %v", got, err)
	}
	if live, _ := b.store.weights(t, "weights.live.default"); live.Hash != got.Hash {
		t.Fatal("the store has other live weights")
	}
	given.Tau = 2
	var invalid *schema.Invalid
	if _, err := b.Take(ctx, "default", given); !errors.As(err, &invalid) {
		t.Fatalf("weights that can not rank were taken: %v", err)
	}
}

func TestOldVersionsArePruned(t *testing.T) {
	cfg := quick()
	cfg.Keep = 2
	b := newBench(t, cfg)
	w := published(b, 4)
	kept, _, err := b.Versions(context.Background(), "default")
	if err != nil || len(kept) != 3 || kept[0].Version != w[3].Version || kept[1].Version != w[2].Version || kept[2].Version != "builtin" {
		t.Fatalf("%+v, %v", kept, err)
	}
}

func TestEpochsRiseEvenIfTheStateIsLost(t *testing.T) {
	b := newBench(t, quick())
	w := published(b, 2)
	usage := b.store.usage(t, "default").Epoch
	b.state = newRecords()
	b.restart(quick())
	b.advance()
	if live, err := b.Live("default"); err != nil || live.Hash != w[1].Hash {
		t.Fatalf("the store's weights are not live: %+v, %v", live, err)
	}
	b.teach("again", 4)
	live, _ := b.store.weights(t, "weights.live.default")
	if live.Epoch != 3 || live.Parent != w[1].Version {
		t.Fatalf("%+v", live)
	}
	if got := b.store.usage(t, "default").Epoch; got <= usage {
		t.Fatalf("usage epoch %d after %d", got, usage)
	}
}

func TestAStoreThatIsDownIsTriedAgain(t *testing.T) {
	b := newBench(t, quick())
	b.advance()
	b.store.down = errors.New("down")
	for i := range 4 {
		search := strings.Repeat("s", i+1)
		b.must(b.show(b.impression(search, "a", "b", "c")))
		b.must(b.report(b.feedback(search, "b", schema.Called)))
	}
	b.now = b.now.Add(time.Minute)
	if err := b.Advance(context.Background()); err == nil {
		t.Fatal("nothing failed")
	}
	b.store.down = nil
	b.advance()
	w, _ := b.store.weights(t, "weights.live.default")
	if w.Epoch != 1 {
		t.Fatalf("epoch %d", w.Epoch)
	}
	b.store.usage(t, "default")
}

func TestARestartPublishesWhatTheCrashKeptBack(t *testing.T) {
	b := newBench(t, quick())
	published(b, 1)
	b.store = newShelf()
	b.restart(quick())
	b.advance()
	if w, _ := b.store.weights(t, "weights.live.default"); w.Epoch != 1 {
		t.Fatalf("%+v", w)
	}
}

func TestRoutes(t *testing.T) {
	b := newBench(t, quick())
	w := published(b, 2)
	mux := http.NewServeMux()
	config := huma.DefaultConfig("test", "1")
	config.CreateHooks = nil
	Routes(humago.New(mux, config), b.Service)
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/v1/weights", 200, `"live":"` + w[1].Version + `"`},
		{"GET", "/v1/weights/live", 200, `"version":"` + w[1].Version + `"`},
		{"GET", "/v1/weights/" + w[0].Version, 200, `"hash":"` + w[0].Hash + `"`},
		{"GET", "/v1/weights/builtin", 200, `"version":"builtin"`},
		{"GET", "/v1/weights/w99-00000000", 404, "no such version"},
		{"GET", "/v1/weights/nonsense", 404, "no such version"},
		{"POST", "/v1/weights:rollback", 200, `"epoch":3`}, // to the first version
		{"POST", "/v1/weights:rollback", 200, `"epoch":4`}, // to the built-in weights
		{"POST", "/v1/weights:rollback", 409, "no version before"},
		{"POST", "/v1/weights/" + w[1].Version + "/promote", 200, `"epoch":5`},
		{"POST", "/v1/weights/nonsense/promote", 404, "no such version"},
	} {
		rec := httptest.NewRecorder()
		mux.ServeHTTP(rec, httptest.NewRequest(c.method, c.path, nil))
		if rec.Code != c.status || !strings.Contains(rec.Body.String(), c.body) {
			t.Errorf("%s %s: %d %s", c.method, c.path, rec.Code, rec.Body)
		}
	}
	b.store.down = errors.New("down")
	rec := httptest.NewRecorder()
	mux.ServeHTTP(rec, httptest.NewRequest("GET", "/v1/weights", nil))
	if rec.Code != 503 {
		t.Errorf("with the store down: %d", rec.Code)
	}
}

// standby returns a service that was taught, another beside it on the same store, and
// what decides whether that one is elected, which it is.
func standby(t *testing.T) (*bench, *Service, *atomic.Bool) {
	t.Helper()
	b := newBench(t, Config{})
	b.teach("s", 200)
	var elected atomic.Bool
	elected.Store(true)
	s, err := New(Config{}, Deps{
		Follower: b.bus, Publisher: b.bus, State: newRecords(), Store: b.store, Now: func() time.Time { return b.now },
		Elected: func() error {
			if !elected.Load() {
				return errors.New("another process does this work")
			}
			return nil
		},
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	b.must(err)
	return b, s, &elected
}

// Who is not elected changes nothing, not even for later, and who takes over goes on
// from what the store has by then.
func TestWhoStandsByPublishesNothing(t *testing.T) {
	ctx := t.Context()
	b, other, elected := standby(t)
	b.must(other.Advance(ctx)) // it was elected before
	elected.Store(false)
	for name, change := range map[string]func() (schema.Weights, error){
		"promote":  func() (schema.Weights, error) { return other.Promote(ctx, "default", "heuristic") },
		"rollback": func() (schema.Weights, error) { return other.Rollback(ctx, "default") },
		"pin":      func() (schema.Weights, error) { return other.Pin(ctx, "default", "builtin") },
		"unpin":    func() (schema.Weights, error) { return other.Unpin(ctx, "default") },
	} {
		if w, err := change(); err == nil {
			t.Errorf("%s: %+v", name, w)
		}
	}
	for range 5 {
		_, err := b.Promote(ctx, "default", "builtin")
		b.must(err)
	}
	want, _ := b.store.weights(t, "weights.live.default")
	elected.Store(true)
	other.beginTurn()
	b.must(other.Advance(ctx))
	if got, _ := b.store.weights(t, "weights.live.default"); got.Version != want.Version || other.Pinned("default") {
		t.Errorf("%s gave way to %s, %s", want.Version, got.Version, got.Source)
	}
	next, err := other.Promote(ctx, "default", "heuristic")
	if err != nil || next.Epoch <= want.Epoch || next.Parent != want.Version {
		t.Errorf("after the takeover: %+v, %v", next, err)
	}
}

// What is pinned is what is answered, though the service has not read the store yet.
func TestWhatIsPinnedIsWhatIsAnswered(t *testing.T) {
	ctx := t.Context()
	b, other, _ := standby(t)
	got, err := other.Pin(ctx, "default", "builtin")
	b.must(err)
	live, err := other.Live("default")
	b.must(err)
	if live.Version != got.Version || got.Source != "promoted builtin" || !other.Pinned("default") {
		t.Errorf("pinned is %s, answered %s, %s", live.Version, got.Version, got.Source)
	}
}

func TestWhatIsNoNameOfAVersionIsUnknown(t *testing.T) {
	b := newBench(t, Config{})
	for _, name := range []string{"w1-é", "w1-a b", "w1-*", "w1..x", "w0-00000000", "w1", "w1-0000000g"} {
		if _, err := b.Version(t.Context(), "default", name); !errors.Is(err, ErrUnknownVersion) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
