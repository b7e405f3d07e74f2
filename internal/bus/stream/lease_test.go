package stream

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// store is a key of which everybody may be cut off.
type store struct {
	mu       sync.Mutex
	value    []byte
	revision uint64
	there    bool
	away     map[string]bool
}

var errAway = errors.New("away")

// of is the store as one holder reaches it.
type of struct {
	*store
	holder string
}

func (s of) Get(context.Context, string) (Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.away[s.holder]:
		return Entry{}, errAway
	case !s.there:
		return Entry{}, ErrNotFound
	}
	return Entry{Value: s.value, Revision: s.revision}, nil
}

func (s of) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	s.mu.Lock()
	there := s.there
	s.mu.Unlock()
	if there {
		return 0, ErrConflict
	}
	return s.put(value, func() bool { return !s.there })
}

func (s of) Update(_ context.Context, _ string, value []byte, revision uint64) (uint64, error) {
	return s.put(value, func() bool { return s.there && s.revision == revision })
}

func (s of) put(value []byte, may func() bool) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.away[s.holder]:
		return 0, errAway
	case !may():
		return 0, ErrConflict
	}
	s.there, s.value = true, value
	s.revision++
	return s.revision, nil
}

func (s *store) cut(holder string, away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away[holder] = away
}

// leaseWorker is a process that wants the lease.
type leaseWorker struct {
	lease *Lease
	stop  func() error
	works *atomic.Bool
}

func join(t *testing.T, s *store, holder string) leaseWorker {
	t.Helper()
	l := NewLease("k", holder, of{s, holder}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	w := leaseWorker{lease: l, works: &atomic.Bool{}}
	done := make(chan error, 1)
	go func() {
		done <- l.Run(ctx, func(ctx context.Context) error {
			w.works.Store(true)
			defer w.works.Store(false)
			<-ctx.Done()
			return nil
		})
	}()
	w.stop = sync.OnceValue(func() error { cancel(); return <-done })
	return w
}

// after lets time pass and looks who may do the work.
func after(t *testing.T, d time.Duration, workers map[string]leaseWorker, want string) {
	t.Helper()
	time.Sleep(d)
	synctest.Wait()
	for name, w := range workers {
		if may := w.lease.Check() == nil; may != (name == want) {
			t.Errorf("after %s %s may do the work: %v, want %q to", d, name, may, want)
		}
	}
}

// worksAndStandsBy lets a work, and b stand by for a while.
func worksAndStandsBy(t *testing.T, s *store, d time.Duration) map[string]leaseWorker {
	t.Helper()
	all := map[string]leaseWorker{"a": join(t, s, "a")}
	after(t, time.Second, all, "a")
	all["b"] = join(t, s, "b")
	after(t, d, all, "a")
	return all
}

func newStore() *store { return &store{away: map[string]bool{}} }

func TestOneWorksAndAnotherTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		all := worksAndStandsBy(t, s, time.Hour)
		if all["b"].lease.StandsBy() == nil || all["b"].works.Load() || all["a"].lease.StandsBy() != nil {
			t.Error("the second one does not stand by")
		}
		check.OK(t, all["a"].stop())
		after(t, LeaseTTL/5, all, "b")
		if !all["b"].works.Load() || all["b"].lease.StandsBy() != nil {
			t.Error("the second one does not work")
		}
		check.OK(t, all["b"].stop())
	})
}

// A holder that is cut off may work on, until it hears that another process has taken
// over.
func TestTheHolderIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		all := worksAndStandsBy(t, s, time.Minute)
		s.cut("a", true)
		time.Sleep(2 * LeaseTTL)
		synctest.Wait()
		if !all["b"].works.Load() || all["b"].lease.Check() != nil {
			t.Error("the second one has not taken over")
		}
		s.cut("a", false)
		after(t, LeaseTTL, all, "b")
		if err := all["a"].stop(); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("the one that was cut off ends with %v", err)
		}
		check.OK(t, all["b"].stop())
	})
}

// The store is away for everybody, and comes back without the last writes, or without
// the key.
func TestTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		all := map[string]leaseWorker{"a": join(t, s, "a")}
		for _, lose := range []func(){func() {}, func() { s.revision -= 3 }, func() { s.there = false }} {
			after(t, time.Minute, all, "a")
			s.cut("a", true)
			after(t, time.Hour, all, "a")
			s.mu.Lock()
			lose()
			s.mu.Unlock()
			s.cut("a", false)
		}
		after(t, LeaseTTL, all, "a")
		s.mu.Lock()
		there := s.there
		s.mu.Unlock()
		if err := all["a"].stop(); err != nil || !there {
			t.Errorf("the key is there: %v, the work ended with %v", there, err)
		}
	})
}

// A store that has lost the key gives it to one of those that ask.
func TestTheKeyIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		all := worksAndStandsBy(t, s, time.Minute)
		s.mu.Lock()
		s.there = false
		s.mu.Unlock()
		time.Sleep(LeaseTTL)
		synctest.Wait()
		if all["a"].works.Load() == all["b"].works.Load() {
			t.Errorf("the first works: %v, the second: %v", all["a"].works.Load(), all["b"].works.Load())
		}
		for _, w := range all {
			if err := w.stop(); err != nil && !errors.Is(err, ErrLeaseLost) {
				t.Error(err)
			}
		}
	})
}

// Who was killed need not wait for itself, and others wait for the whole time.
func TestAKilledHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		check.Value((of{s, "a"}).Create(t.Context(), "k", []byte("a")))(t)
		all := map[string]leaseWorker{"b": join(t, s, "b")}
		after(t, LeaseTTL-time.Millisecond, all, "")
		all["a"] = join(t, s, "a")
		after(t, time.Millisecond, all, "a")
		after(t, time.Hour, all, "a")
		for _, name := range []string{"b", "a"} {
			check.OK(t, all[name].stop())
		}
	})
}

func TestWorkThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		l := NewLease("k", "a", of{s, "a"}, slog.New(slog.DiscardHandler))
		if err := l.Run(t.Context(), func(context.Context) error { return errAway }); !errors.Is(err, errAway) || len(s.value) != 0 {
			t.Errorf("%v, and the key says %q", err, s.value)
		}
		if l.Check() == nil {
			t.Error("what was given up is held")
		}
	})
}

// Two processes that go by the same name, as with copies of a folder, do not both work.
func TestTwoOfOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		first := join(t, s, "same")
		time.Sleep(time.Second)
		second := join(t, s, "same")
		time.Sleep(LeaseTTL/3 + time.Second)
		synctest.Wait()
		if first.lease.Check() == nil || second.lease.Check() != nil || first.works.Load() || !second.works.Load() {
			t.Errorf("the first works: %v, the second: %v", first.works.Load(), second.works.Load())
		}
		if err := first.stop(); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("the first ended with %v", err)
		}
		check.OK(t, second.stop())
	})
}
