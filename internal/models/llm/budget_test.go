package llm

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// midnight is how long it is to the next midnight UTC.
func midnight() time.Duration {
	return time.Until(time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour))
}

func TestABudgetOfTokensLastsForTheDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{} // 15 tokens a call
		c := newClient(t, Config{Budget: Budget{Tokens: 40}}, f)
		for day := range 2 {
			for range 3 {
				check.Value(c.Complete(t.Context(), standardize))(t)
			}
			_, err := c.Complete(t.Context(), rewrite)
			wantKind(t, err, Exhausted)
			var e *Error
			if !errors.As(err, &e) || e.RetryAfter != midnight() {
				t.Errorf("again in %s", e.RetryAfter)
			}
			s := c.Spent()
			if share := c.ledger.share(); share != 45.0/40 {
				t.Errorf("%g of the budget is spent", share)
			}
			if !s.Exhausted || s.Tokens != 45 || f.calls() != 3*(day+1) {
				t.Errorf("%+v, %d calls", s, f.calls())
			}
			time.Sleep(midnight())
		}
		if share := c.ledger.share(); share != 0 {
			t.Errorf("a new day begins with %g of the budget", share)
		}
		if s := c.Spent(); s.Tokens != 0 || s.Exhausted || len(s.Accounts) != 0 {
			t.Errorf("a new day begins with %+v", s)
		}
	})
}

func TestCallsUnderWayOverrunABudgetOfDollars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(ctx context.Context, _ Request) (Answer, error) {
			return Answer{Usage: Usage{Prompt: 1000, Completion: 500}}, after(ctx, time.Second)
		}}
		cfg := Config{Parallel: 4, Prices: Prices{Prompt: 2, Completion: 8}, Budget: Budget{Dollars: 0.06}} // 0.006 a call
		c := newClient(t, cfg, f)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := c.Complete(t.Context(), standardize); err != nil && KindOf(err) != Exhausted {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := f.calls(); n < 10 || n > 13 {
			t.Errorf("%d calls of 0.006 dollars for a budget of 0.06", n)
		}
		if got, want := c.Spent().Dollars, float64(f.calls())*0.006; math.Abs(got-want) > 1e-9 {
			t.Errorf("spent %v, want %v", got, want)
		}
	})
}

func TestUnusableAnswersAreAccountedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		f.answer = func(_ context.Context, r Request) (Answer, error) {
			paid := Answer{Usage: Usage{Prompt: 7, Completion: 3}}
			switch f.calls() {
			case 1:
				return paid, &Error{Kind: Refused, Err: errors.New("no")}
			case 2:
				return paid, &Error{Kind: Malformed, Err: errors.New("cut")}
			case 3:
				return Answer{}, &Error{Kind: Unavailable, Err: errors.New("away")}
			case 4:
				return Answer{Usage: Usage{Prompt: -5}}, nil
			}
			return paid, nil
		}
		c := newClient(t, Config{Prices: Prices{Prompt: 1e6}}, f)
		for _, r := range []Request{{Stage: StageRewrite, Tenant: "b"}, {Stage: StageRewrite, Tenant: "a"}, {Stage: StageRewrite, Tenant: "a"}, {Stage: StageStandardize, Tenant: "a"}} {
			_, _ = c.Complete(t.Context(), r) // the accounts tell what came of it
		}
		s := c.Spent()
		if len(s.Accounts) != 3 || s.Tokens != 30 || s.Dollars != 21 {
			t.Fatalf("%+v", s)
		}
		first, last := s.Accounts[0], s.Accounts[2]
		if first.Tenant != "a" || first.Stage != StageRewrite || first.Calls[string(Malformed)] != 1 || first.Calls[string(Unavailable)] != 1 || first.Calls[Answered] != 1 {
			t.Errorf("%+v", first)
		}
		if last.Tenant != "b" || last.Prompt != 7 || last.Completion != 3 || last.Calls[string(Refused)] != 1 {
			t.Errorf("%+v", last)
		}
		if n := counted(t, c, "toolstream_llm_tokens_total"); n != 30 {
			t.Errorf("the metric says %v", n)
		}
	})
}

// What was spent today counts after a restart; a file that makes no sense counts as none.
func TestTheBudgetSurvivesARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "llm.json")
	began := time.Now()
	start := func(now time.Time) (*Client, func()) {
		c := check.Value(New(Config{Budget: Budget{Tokens: 40}}, Deps{
			Model: &fake{}, Accounts: file, Now: func() time.Time { return now },
			Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		}))(t)
		return c, check.Run(t, c.Run)
	}
	for process := range 2 {
		c, end := start(began)
		for i := range 2 {
			_, err := c.Complete(t.Context(), standardize)
			if want := process == 1 && i == 1; (KindOf(err) == Exhausted) != want {
				t.Errorf("process %d, call %d: %v", process, i, err)
			}
		}
		end()
	}
	c, end := start(began.Add(24 * time.Hour))
	if n := c.Spent().Tokens; n != 0 {
		t.Errorf("the next day begins with %d tokens", n)
	}
	end()
	check.OK(t, os.WriteFile(file, []byte("{"), 0o600))
	c, end = start(began)
	defer end()
	if n := c.Spent().Tokens; n != 0 {
		t.Errorf("%d tokens in a damaged file", n)
	}
}
