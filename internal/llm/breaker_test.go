package llm

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestFailuresApartDoNotOpenTheCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		f.answer = func(context.Context, Request) (Answer, error) {
			if f.calls()%2 == 0 {
				return Answer{}, nil
			}
			return Answer{}, &Error{Kind: Unavailable, Err: errors.New("away")}
		}
		c := newClient(t, Config{Attempts: 1, Breaker: Breaker{Row: 2}}, f, nil)
		for range 100 {
			if _, err := c.Complete(t.Context(), rewrite); KindOf(err) == Broken {
				t.Fatal(err)
			}
		}
	})
}

// One call alone finds out whether the endpoint is back; if its caller goes
// away, the next one does.
func TestOneCallTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: fails(Error{Kind: Unavailable})}
		c := newClient(t, Config{Attempts: 1, Breaker: Breaker{Row: 1, Rest: time.Minute}}, f, nil)
		_, err := c.Complete(t.Context(), rewrite)
		wantKind(t, err, Unavailable)
		time.Sleep(time.Minute)
		f.answer = hang
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := c.Complete(ctx, rewrite)
			done <- err
		}()
		synctest.Wait()
		_, err = c.Complete(t.Context(), rewrite)
		wantKind(t, err, Broken)
		if got := metric(t, c, "toolstream_llm_breaker"); got != float64(halfOpen) {
			t.Errorf("the metric says %v", got)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		f.answer = nil
		if _, err := c.Complete(t.Context(), rewrite); err != nil {
			t.Errorf("the next one: %v", err)
		}
	})
}

// A failed try opens the circuit for as long again.
func TestAFailedTryKeepsTheCircuitOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: fails(Error{Kind: Setup})}
		c := newClient(t, Config{Attempts: 1, Breaker: Breaker{Row: 1, Rest: time.Minute}}, f, nil)
		for range 3 {
			_, err := c.Complete(t.Context(), rewrite)
			wantKind(t, err, Setup)
			time.Sleep(time.Minute - time.Second)
			_, err = c.Complete(t.Context(), rewrite)
			wantKind(t, err, Broken)
			var e *Error
			if !errors.As(err, &e) || e.RetryAfter != time.Second {
				t.Errorf("again in %s", e.RetryAfter)
			}
			time.Sleep(time.Second)
		}
	})
}
