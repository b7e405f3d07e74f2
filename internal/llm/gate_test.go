package llm

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// What comes of tries that began before the limit was halved says nothing
// about the new limit.
func TestABurstOfRefusalsHalvesOnce(t *testing.T) {
	limit := 0
	g := newGate(Config{Parallel: 16, Start: 16}, func(l, _ int) { limit = l })
	began := time.Now()
	for range 16 {
		if err := g.enter(t.Context(), StageStandardize); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 16 {
		g.leave(began, began.Add(time.Duration(i+1)), loadHigh)
	}
	if limit != 8 {
		t.Errorf("the limit is %d", limit)
	}
	if err := g.enter(t.Context(), StageStandardize); err != nil {
		t.Fatal(err)
	}
	g.leave(began.Add(time.Second), began.Add(2*time.Second), loadHigh)
	if limit != 4 {
		t.Errorf("the limit is %d after another one", limit)
	}
}

// A turn that comes as its waiter gives up is given back.
func TestATurnThatComesTooLateIsGivenBack(t *testing.T) {
	busy := 0
	g := newGate(Config{Parallel: 1, Start: 1}, func(_, b int) { busy = b })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &waiter{turn: make(chan struct{})}
	g.urgent = append(g.urgent, w)
	g.admit()
	if err := g.giveUp(ctx, w); !errors.Is(err, context.Canceled) || !w.given || busy != 0 {
		t.Errorf("%v, given %v, %d busy", err, w.given, busy)
	}
}

func TestTimeoutsHalveTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, Config{Parallel: 8, Start: 8, Attempts: 1, Timeout: time.Second}, &fake{answer: hang}, nil)
		if _, err := c.Complete(t.Context(), standardize); err == nil {
			t.Error("a hanging model answered")
		}
		if limit := metric(t, c, "toolstream_llm_limit"); limit != 4 {
			t.Errorf("the limit is %v", limit)
		}
	})
}

// While the endpoint wants to be left alone nobody asks it: neither who comes,
// nor who stood in line.
func TestNobodyAsksWhileTheEndpointWantsToBeLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		f := &fake{}
		f.answer = func(ctx context.Context, _ Request) (Answer, error) {
			if f.calls() == 1 {
				return Answer{}, errors.Join(after(ctx, time.Second), &Error{Kind: Unavailable, Busy: true, RetryAfter: 10 * time.Second, Err: errors.New("busy")})
			}
			return Answer{}, nil
		}
		c := newClient(t, Config{Parallel: 1, Attempts: 2}, f, nil)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 700 * time.Millisecond) // two stand in line, one comes later
				if _, err := c.Complete(t.Context(), standardize); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i, at := range f.asked {
			if i > 0 && at.Sub(began) < 11*time.Second {
				t.Errorf("call %d after %s", i, at.Sub(began))
			}
		}
		if f.calls() != 5 {
			t.Errorf("%d calls", f.calls())
		}
	})
}

func TestWhoIsAskedToWaitTooLongDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		f := &fake{answer: fails(Error{Kind: Unavailable, Busy: true, RetryAfter: time.Hour})}
		c := newClient(t, Config{Patience: time.Minute}, f, nil)
		for range 2 {
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
