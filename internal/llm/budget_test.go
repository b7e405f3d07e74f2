package llm

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// untilTomorrow sleeps to the next midnight UTC.
func untilTomorrow() { time.Sleep(untilMidnight(time.Now())) }

func TestABudgetOfTokensLastsForTheDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{} // 15 tokens a call
		c := newClient(t, Config{Budget: Budget{Tokens: 40}}, f, nil)
		for day := range 2 {
			for range 3 {
				if _, err := c.Complete(t.Context(), standardize); err != nil {
					t.Fatal(err)
				}
			}
			_, err := c.Complete(t.Context(), rewrite)
			wantKind(t, err, Exhausted)
			var e *Error
			if !errors.As(err, &e) || e.RetryAfter != untilMidnight(time.Now()) {
				t.Errorf("again in %s", e.RetryAfter)
			}
			s := c.Spent()
			if share := c.ledger.share(time.Now()); share != 45.0/40 {
				t.Errorf("%g of the budget is spent", share)
			}
			if !s.Exhausted || s.Tokens != 45 || f.calls() != 3*(day+1) {
				t.Errorf("%+v, %d calls", s, f.calls())
			}
			untilTomorrow()
		}
		if share := c.ledger.share(time.Now()); share != 0 {
			t.Errorf("a new day begins with %g of the budget", share)
		}
		if s := c.Spent(); s.Tokens != 0 || s.Exhausted || len(s.Accounts) != 0 {
			t.Errorf("a new day begins with %+v", s)
		}
	})
}

func TestABudgetOfMoneyIsOverrunByWhatIsUnderWayAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(ctx context.Context, _ Request) (Answer, error) {
			return Answer{Usage: Usage{Prompt: 1000, Completion: 500}}, after(ctx, time.Second)
		}}
		cfg := Config{Parallel: 4, Start: 4, Prices: Prices{Prompt: 2, Completion: 8}, Budget: Budget{Dollars: 0.06}} // 0.006 a call
		c := newClient(t, cfg, f, nil)
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

func TestAnswersThatCanNotBeUsedAreAccountedForToo(t *testing.T) {
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
		c := newClient(t, Config{Prices: Prices{Prompt: 1e6}}, f, nil)
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
		if n := metric(t, c, "toolstream_llm_tokens_total"); n != 30 {
			t.Errorf("the metric says %v", n)
		}
	})
}

// memory is a Store that may be away.
type memory struct {
	mu    sync.Mutex
	saved []byte
	away  bool
}

var errAway = errors.New("away")

func (m *memory) Load(context.Context) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		return nil, errAway
	}
	return m.saved, nil
}

func (m *memory) Save(_ context.Context, b []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		return errAway
	}
	m.saved = b
	return nil
}

func (m *memory) set(away bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away = away
}

// run starts Run, and ends it when the returned function is called.
func run(t *testing.T, c *Client) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestTheBudgetSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		cfg := Config{Budget: Budget{Tokens: 40}}
		for process := range 2 {
			c := newClient(t, cfg, &fake{}, store)
			end := run(t, c)
			for i := range 2 {
				_, err := c.Complete(t.Context(), standardize)
				if want := process == 1 && i == 1; (KindOf(err) == Exhausted) != want {
					t.Errorf("process %d, call %d: %v", process, i, err)
				}
			}
			end()
		}
		untilTomorrow()
		c := newClient(t, cfg, &fake{}, store)
		defer run(t, c)()
		if _, err := c.Complete(t.Context(), standardize); err != nil {
			t.Errorf("on the next day: %v", err)
		}
	})
}

// A store that is away does not stop the stages, and what was saved before is
// neither lost nor counted twice.
func TestAStoreThatIsAwayIsReadLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		first := newClient(t, Config{}, &fake{}, store)
		end := run(t, first)
		ask := func(c *Client) {
			if _, err := c.Complete(t.Context(), standardize); err != nil {
				t.Error(err)
			}
		}
		ask(first)
		end()
		store.set(true)
		second := newClient(t, Config{}, &fake{}, store)
		end = run(t, second)
		ask(second)
		time.Sleep(2 * saveEvery)
		if n := second.Spent().Tokens; n != 15 {
			t.Errorf("%d tokens while the store is away", n)
		}
		store.set(false)
		time.Sleep(2 * saveEvery)
		if n := second.Spent().Tokens; n != 30 {
			t.Errorf("%d tokens once it is back", n)
		}
		end()
		third := newClient(t, Config{}, &fake{}, store)
		defer run(t, third)()
		ask(third)
		if n := third.Spent().Tokens; n != 45 {
			t.Errorf("%d tokens after a restart", n)
		}
	})
}

func TestWhatCouldNotBeSavedIsSavedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		c := newClient(t, Config{}, &fake{}, store)
		end := run(t, c)
		if _, err := c.Complete(t.Context(), standardize); err != nil {
			t.Fatal(err)
		}
		store.set(true)
		time.Sleep(2 * saveEvery)
		store.set(false)
		end()
		next := newClient(t, Config{}, &fake{}, store)
		defer run(t, next)()
		synctest.Wait()
		if n := next.Spent().Tokens; n != 15 {
			t.Errorf("%d tokens", n)
		}
	})
}

func TestSavedAccountsThatMakeNoSenseCountAsNone(t *testing.T) {
	for _, saved := range []string{"{", `{"day":"2000-01-01","accounts":[{"prompt":-5}]}`, `[]`, `{}`} {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, Config{}, &fake{}, &memory{saved: []byte(saved)})
			defer run(t, c)()
			if _, err := c.Complete(t.Context(), standardize); err != nil || c.Spent().Tokens != 15 {
				t.Errorf("%q: %v, %+v", saved, err, c.Spent())
			}
		})
	}
}

func TestCallsWaitUntilTheAccountsAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, Config{}, &fake{}, &memory{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Complete(ctx, rewrite); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
