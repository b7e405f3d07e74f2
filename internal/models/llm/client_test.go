package llm

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a model that answers as it is told.
type fake struct {
	answer func(ctx context.Context, r Request) (Answer, error)

	mu    sync.Mutex
	asked []time.Time
	busy  int
	peak  int
}

func (f *fake) Name() string { return "fake" }

func (f *fake) Complete(ctx context.Context, r Request) (Answer, error) {
	f.mu.Lock()
	f.asked = append(f.asked, time.Now())
	f.busy++
	f.peak = max(f.peak, f.busy)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.busy--
		f.mu.Unlock()
	}()
	if f.answer == nil {
		return Answer{Usage: Usage{Prompt: 10, Completion: 5}}, nil
	}
	return f.answer(ctx, r)
}

func (f *fake) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// after waits as a model does that takes so long.
func after(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func hang(ctx context.Context, _ Request) (Answer, error) {
	<-ctx.Done()
	return Answer{}, ctx.Err()
}

func fails(e Error) func(context.Context, Request) (Answer, error) {
	return func(context.Context, Request) (Answer, error) {
		e := e
		e.Err = errors.New("it says so")
		return Answer{}, &e
	}
}

func newClient(t *testing.T, cfg Config, f *fake) *Client {
	t.Helper()
	c := check.Value(New(cfg, Deps{
		Model: f, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	}))(t)
	return c
}

// counted sums the values of one metric.
func counted(t *testing.T, c *Client, name string) (sum float64) {
	t.Helper()
	families := check.Value(c.deps.Registerer.(*prometheus.Registry).Gather())(t)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

var (
	standardize = Request{Stage: StageStandardize, Tenant: "t"}
	rewrite     = Request{Stage: StageRewrite, Tenant: "t"}
)

func wantKind(t *testing.T, err error, kind Kind) {
	t.Helper()
	if KindOf(err) != kind {
		t.Errorf("error %v, want one of kind %q", err, kind)
	}
}

func TestOnlyTransientFailuresAreRetried(t *testing.T) {
	for kind, tries := range map[Kind]int{Unavailable: 3, Setup: 1, Rejected: 1, Refused: 1, Malformed: 1} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answer: fails(Error{Kind: kind})}
			_, err := newClient(t, Config{Attempts: 3}, f).Complete(t.Context(), standardize)
			wantKind(t, err, kind)
			if f.calls() != tries {
				t.Errorf("%s: asked %d times, want %d", kind, f.calls(), tries)
			}
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		f := &fake{}
		f.answer = func(context.Context, Request) (Answer, error) {
			if f.calls() == 1 {
				return Answer{}, &Error{Kind: Unavailable, RetryAfter: 7 * time.Second, Err: errors.New("busy")}
			}
			return Answer{}, nil
		}
		c := newClient(t, Config{}, f)
		check.Value(c.Complete(t.Context(), standardize))(t)
		if waited := f.asked[1].Sub(began); waited != 7*time.Second {
			t.Errorf("asked again after %s", waited)
		}
	})
}

func TestRetriesEndWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: fails(Error{Kind: Unavailable})}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := newClient(t, Config{Attempts: 100}, f).Complete(ctx, rewrite)
		if err == nil || time.Since(began) > 1500*time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// A try that has taken its time is paid for, and another one would be as slow.
func TestATryHasADeadlineAndIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: hang}
		began := time.Now()
		_, err := newClient(t, Config{Timeout: 2 * time.Second}, f).Complete(t.Context(), standardize)
		wantKind(t, err, TimedOut)
		if took := time.Since(began); took != 2*time.Second || f.calls() != 1 {
			t.Errorf("%d calls took %s", f.calls(), took)
		}
	})
}

func TestAFailingEndpointOpensTheCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: fails(Error{Kind: Unavailable})}
		c := newClient(t, Config{Attempts: 1, Failures: 3, Cooldown: 10 * time.Second}, f)
		ask := func() error { _, err := c.Complete(t.Context(), rewrite); return err }
		for range 3 {
			wantKind(t, ask(), Unavailable)
		}
		began := time.Now()
		for range 1000 {
			wantKind(t, ask(), Broken)
		}
		if f.calls() != 3 || time.Since(began) != 0 {
			t.Errorf("%d calls, %s", f.calls(), time.Since(began))
		}
		if _, err := c.Complete(t.Context(), standardize); KindOf(err) != Unavailable {
			t.Errorf("another stage: %v", err)
		}
		time.Sleep(10*time.Second + time.Nanosecond)
		wantKind(t, ask(), Unavailable) // the one that tries
		wantKind(t, ask(), Broken)
		time.Sleep(10*time.Second + time.Nanosecond)
		f.answer = nil
		for range 3 {
			if err := ask(); err != nil {
				t.Fatalf("it is back: %v", err)
			}
		}
	})
}

// A model that hangs costs the budget of the first searches alone, though the
// deadline that ends them is their own.
func TestAHangingModelOpensTheCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: hang}
		c := newClient(t, Config{Failures: 3}, f)
		var took []time.Duration
		for range 6 {
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			began := time.Now()
			_, err := c.Complete(ctx, rewrite)
			took = append(took, time.Since(began))
			if err == nil {
				t.Error("a hanging model answered")
			}
			cancel()
		}
		b := 1500 * time.Millisecond
		if want := []time.Duration{b, b, b, 0, 0, 0}; !slices.Equal(took, want) {
			t.Errorf("took %v", took)
		}
	})
}

func TestCallersThatGoAwayDoNotBreakTheCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: hang}
		c := newClient(t, Config{Failures: 2}, f)
		for range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if _, err := c.Complete(ctx, rewrite); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		f.answer = nil
		check.Value(c.Complete(t.Context(), rewrite))(t)
	})
}

func TestTriesAtOnceAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(ctx context.Context, _ Request) (Answer, error) { return Answer{}, after(ctx, time.Second) }}
		c := newClient(t, Config{Parallel: 4}, f)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if _, err := c.Complete(t.Context(), standardize); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if f.peak != 4 {
			t.Errorf("%d at once, want 4", f.peak)
		}
	})
}

// An import of any size leaves a place for the searches.
func TestRewritingGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(ctx context.Context, r Request) (Answer, error) {
			if r.Stage == StageRewrite {
				return Answer{}, after(ctx, 100*time.Millisecond)
			}
			return Answer{}, after(ctx, 20*time.Second)
		}}
		c := newClient(t, Config{Parallel: 4, Reserve: 1}, f)
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				if _, err := c.Complete(t.Context(), standardize); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		for range 50 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			check.Value(c.Complete(ctx, rewrite))(t)
			cancel()
		}
		wg.Wait()
	})
}

// A stage that survives a panic finds the room that it took given back.
func TestAPanicReleasesItsSlot(t *testing.T) {
	f := &fake{answer: func(context.Context, Request) (Answer, error) { panic("a bug") }}
	c := newClient(t, Config{Parallel: 1}, f)
	for range 3 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was lost")
				}
			}()
			_, _ = c.Complete(t.Context(), rewrite) // it panics
		}()
	}
	f.answer = nil
	check.Value(c.Complete(t.Context(), rewrite))(t)
}

func TestALongRetryAfterIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		f := &fake{answer: fails(Error{Kind: Unavailable, RetryAfter: time.Hour})}
		c := newClient(t, Config{MaxPause: time.Minute}, f)
		{
			_, err := c.Complete(t.Context(), standardize)
			var e *Error
			if !errors.As(err, &e) || e.Kind != Unavailable || e.RetryAfter != time.Hour {
				t.Errorf("%v, again in %s", err, e.RetryAfter)
			}
		}
		if f.calls() != 1 || time.Since(began) != 0 {
			t.Errorf("%d calls, %s", f.calls(), time.Since(began))
		}
	})
}

// An endpoint that says when to ask again is not taken for one that is away.
func TestAnEndpointThatPacesDoesNotOpenTheCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: fails(Error{Kind: Unavailable, RetryAfter: time.Second})}
		c := newClient(t, Config{Attempts: 10, Failures: 2}, f)
		_, err := c.Complete(t.Context(), standardize)
		wantKind(t, err, Unavailable)
		if f.calls() != 10 {
			t.Errorf("%d calls", f.calls())
		}
	})
}
