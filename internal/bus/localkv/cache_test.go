package localkv_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/bus/localkv"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source says what a test gives it, then ends.
type source struct {
	there   []stream.Entry // before it is current
	changes []stream.Entry
	away    bool
	err     error
	during  func()
}

var errLost = errors.New("lost")

func (s *source) Follow(_ context.Context, _ string, fn func(stream.Entry) error, current func()) error {
	if s.away {
		s.call()
		return errLost
	}
	for _, e := range s.there {
		if err := fn(e); err != nil {
			return err
		}
	}
	current()
	for _, e := range s.changes {
		if err := fn(e); err != nil {
			return err
		}
	}
	s.call()
	return s.err
}

func (s *source) call() {
	if s.during != nil {
		s.during()
	}
}

// bench is a cache over a file.
type bench struct {
	*testing.T
	path   string
	source *source
	store  *localkv.Store
	cache  *localkv.Cache
	usable func(key string, value []byte) error
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, path: filepath.Join(t.TempDir(), "snapshot"), source: &source{err: errLost}, usable: func(string, []byte) error { return nil }}
	b.start()
	t.Cleanup(func() { check.OK(b, b.store.Close()) })
	return b
}

func (b *bench) start() {
	b.Helper()
	log := slog.New(slog.DiscardHandler)
	b.store = check.Value(localkv.Open(b.path, log))(b)
	b.cache = localkv.NewCache(localkv.CacheDeps{Source: b.source, Store: b.store, Logger: log, Usable: b.usable})
}

func (b *bench) restart() {
	b.Helper()
	check.OK(b, b.store.Close())
	b.start()
}

// watch returns what a watch gives until the source is lost.
func (b *bench) watch(prefix string) []string {
	b.Helper()
	var got []string
	err := b.cache.Watch(b.Context(), prefix, func(e stream.Entry) error {
		got = append(got, fmt.Sprintf("%s=%s@%d", e.Key, e.Value, e.Revision))
		return nil
	})
	if !errors.Is(err, errLost) {
		b.Fatalf("the watch ended with %v", err)
	}
	return got
}

func (b *bench) want(prefix string, want ...string) {
	b.Helper()
	if got := b.watch(prefix); !slices.Equal(got, want) {
		b.Errorf("the watch of %q gave %q, want %q", prefix, got, want)
	}
}

func entry(key, value string, revision uint64) stream.Entry {
	return stream.Entry{Key: key, Value: []byte(value), Revision: revision}
}

func TestAStartWithoutTheSourceGivesWhatWasKept(t *testing.T) {
	b := newBench(t)
	b.source.there = []stream.Entry{entry("w.a", "1", 1), entry("w.b", "1", 2)}
	b.source.changes = []stream.Entry{entry("w.a", "2", 3), {Key: "w.b", Revision: 4}, entry("w.c", "", 5)}
	b.want("w.", "w.a=1@1", "w.b=1@2", "w.a=2@3", "w.b=@4", "w.c=@5")
	b.source.away = true
	b.restart()
	b.want("w.", "w.a=2@3", "w.c=@5")
	b.want("other")
	b.source.away = false
	b.source.there, b.source.changes = []stream.Entry{entry("w.a", "3", 6)}, nil
	b.want("w.", "w.a=2@3", "w.c=@5", "w.a=3@6")
	b.source.away = true
	b.want("w.", "w.a=3@6", "w.c=@5")
}

func TestStaleUntilTheSourceHasSaidEverything(t *testing.T) {
	b := newBench(t)
	if !b.cache.Stale() {
		t.Error("current before anybody watches")
	}
	b.source.during = func() {
		if b.cache.Stale() {
			t.Error("stale while the source is followed")
		}
	}
	b.watch("w.")
	if !b.cache.Stale() {
		t.Error("current after the source was lost")
	}
	b.source.away = true
	b.source.during = func() {
		if !b.cache.Stale() {
			t.Error("current while the source is away")
		}
	}
	b.watch("w.")
}

func TestOnePrefixThatIsBehindIsStale(t *testing.T) {
	b := newBench(t)
	b.watch("usage.") // and lost
	b.source.during = func() {
		if !b.cache.Stale() {
			t.Error("current while one of two watches is lost")
		}
	}
	b.watch("weights.")
}

func TestAValueThatIsNotGoodDoesNotReplaceOneThatIs(t *testing.T) {
	b := newBench(t)
	b.usable = func(_ string, value []byte) error {
		if string(value) == "bad" {
			return errors.New("bad")
		}
		return nil
	}
	b.restart()
	b.source.there = []stream.Entry{entry("w.a", "good", 1), entry("w.a", "bad", 2)}
	b.want("w.", "w.a=good@1", "w.a=bad@2")
	b.source.away = true
	b.restart()
	b.want("w.", "w.a=good@1")
}

func TestDamageOnDiskCostsOnlyWhatWasKept(t *testing.T) {
	b := newBench(t)
	b.source.there = []stream.Entry{entry("w.a", "1", 1)}
	b.watch("w.")
	check.OK(b, b.store.Close())
	check.OK(b, os.WriteFile(filepath.Join(b.path, "0000000000000001.segment"), []byte("not a file of ours"), 0o600))
	b.start()
	b.want("w.", "w.a=1@1") // from the source
}

// fullStore cannot be written.
type fullStore struct{}

func (fullStore) Load(func(string, []byte) error) error { return nil }
func (fullStore) Get(string) ([]byte, error)            { return nil, nil }
func (fullStore) Erase(func(string) bool) error         { return nil }
func (fullStore) Save(map[string][]byte) error          { return errors.New("full") }

func TestAFullDiskHoldsNothingUp(t *testing.T) {
	b := newBench(t)
	b.source.there = []stream.Entry{entry("w.a", "1", 1), entry("w.b", "1", 2)}
	b.cache = localkv.NewCache(localkv.CacheDeps{Source: b.source, Store: fullStore{}, Logger: slog.New(slog.DiscardHandler), Usable: b.usable})
	b.want("w.", "w.a=1@1", "w.b=1@2")
}

// countingStore counts what is written.
type countingStore struct {
	localkv.Records
	saves int
}

func (s *countingStore) Save(changes map[string][]byte) error {
	s.saves++
	return s.Records.Save(changes)
}

func TestWhatIsOnDiskIsNotWrittenAgain(t *testing.T) {
	b := newBench(t)
	store := &countingStore{Records: b.store}
	b.source.there = []stream.Entry{entry("w.a", "1", 1), {Key: "w.gone", Revision: 2}}
	for range 2 {
		b.cache = localkv.NewCache(localkv.CacheDeps{Source: b.source, Store: store, Logger: slog.New(slog.DiscardHandler), Usable: b.usable})
		b.watch("w.")
		b.watch("w.")
	}
	if store.saves != 1 {
		t.Errorf("%d writes", store.saves)
	}
}

func TestTheCallbacksErrorEndsAWatch(t *testing.T) {
	b := newBench(t)
	b.source.there = []stream.Entry{entry("w.a", "1", 1)}
	enough := errors.New("enough")
	for range 2 { // from the source, then from disk
		err := b.cache.Watch(t.Context(), "w.", func(stream.Entry) error { return enough })
		if !errors.Is(err, enough) {
			t.Errorf("the watch ended with %v", err)
		}
		b.watch("w.")
	}
}
