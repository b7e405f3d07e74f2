package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker/v2"

	"github.com/toolstream/toolstream/internal/kit/fairqueue"
)

// Config bounds the requests of a Client. A limit of zero means its default; a budget
// or price of zero means unlimited.
type Config struct {
	Timeout  time.Duration // of one try; 2 minutes
	Attempts int           // tries of one call, the first included; 4
	MaxPause time.Duration // longest pause before a try: a longer one is an error; 30 s

	Parallel int // tries at once; 8
	Reserve  int // of the tries at once, how many only rewriting may take

	Failures int           // in a row, after which a stage stops asking; 5
	Cooldown time.Duration // before one call of the stage tries again; 20 s

	Budget Budget
	Prices Prices
}

// Budget bounds the cost of one day (UTC) of this process; 0 does not bound it.
// Calls in progress when the budget is spent come on top of it.
type Budget struct {
	Tokens  int64 // of prompts and answers together
	Dollars float64
}

// Prices are dollars per million tokens.
type Prices struct {
	Prompt     float64
	Completion float64
}

// Deps are the ports of a Client.
type Deps struct {
	Model      Model
	Accounts   string // file that keeps the accounts over restarts; "": a restart loses them
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Client asks a Model within bounds. It is a Model itself, and may be called
// concurrently.
type Client struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	ledger  *ledger
	stages  map[Stage]*stage
	tries   *fairqueue.Queue
}

// stage has a circuit breaker of its own: an endpoint that is too slow for a search
// may be good enough for an import.
type stage struct {
	breaker *gobreaker.CircuitBreaker[Answer]
	failure atomic.Pointer[string] // the last one
}

// New returns a client, which reads the accounts of earlier today.
func New(cfg Config, deps Deps) (*Client, error) {
	if cfg.Budget.Dollars > 0 && cfg.Prices == (Prices{}) {
		return nil, errors.New("llm: a budget in dollars needs prices")
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, 2*time.Minute)
	cfg.Attempts = cmp.Or(cfg.Attempts, 4)
	cfg.MaxPause = cmp.Or(cfg.MaxPause, 30*time.Second)
	cfg.Parallel = cmp.Or(cfg.Parallel, 8)
	cfg.Failures = cmp.Or(cfg.Failures, 5)
	cfg.Cooldown = cmp.Or(cfg.Cooldown, 20*time.Second)
	c := &Client{
		cfg: cfg, deps: deps, ledger: newLedger(cfg, deps), stages: map[Stage]*stage{},
		tries: fairqueue.New(fairqueue.Config{Slots: cfg.Parallel}),
	}
	c.metrics = newMetrics(deps.Registerer, c.ledger.share)
	for _, name := range stages {
		s := &stage{}
		s.breaker = gobreaker.NewCircuitBreaker[Answer](gobreaker.Settings{
			MaxRequests: 1, Timeout: cfg.Cooldown,
			IsExcluded:   c.saysNothing,
			IsSuccessful: answered,
			ReadyToTrip:  func(n gobreaker.Counts) bool { return int(n.ConsecutiveFailures) >= cfg.Failures },
			OnStateChange: func(_ string, _, to gobreaker.State) {
				c.metrics.breaker.WithLabelValues(string(name)).Set(float64(to))
				switch to {
				case gobreaker.StateOpen:
					deps.Logger.Warn("the language model is not asked for a while", "stage", name, "for", cfg.Cooldown, "error", s.lastFailure())
				case gobreaker.StateClosed:
					deps.Logger.Info("the language model is back", "stage", name)
				}
			},
		})
		c.stages[name] = s
	}
	return c, nil
}

// lastFailure returns the text of the last failure. Later calls, which are not made because
// of it, fail with another kind.
func (s *stage) lastFailure() error {
	if words := s.failure.Load(); words != nil {
		return errors.New(*words)
	}
	return errors.New("it failed")
}

// saysNothing reports whether an error says nothing about the endpoint's health: the
// caller went away, the budget is spent, or the endpoint says itself when to ask again.
func (c *Client) saysNothing(err error) bool {
	var e *Error
	return errors.Is(err, context.Canceled) ||
		errors.As(err, &e) && (e.Kind == Exhausted || e.RetryAfter > 0 && e.RetryAfter <= c.cfg.MaxPause)
}

// answered reports whether an error shows an endpoint that answers. A caller whose
// time is over while it waits has seen the endpoint fail.
func answered(err error) bool {
	switch KindOf(err) {
	case "":
		return err == nil
	case Rejected, Refused, Malformed:
		return true
	}
	return false
}

// Name identifies the model.
func (c *Client) Name() string { return c.deps.Model.Name() }

// Spent returns the accounts of the day.
func (c *Client) Spent() Spent { return c.ledger.spent() }

// Tripped returns the stages that do not ask at the moment, because too many of
// their last calls failed, with the last failure.
func (c *Client) Tripped() map[Stage]error {
	out := map[Stage]error{}
	for name, s := range c.stages {
		if s.breaker.State() != gobreaker.StateClosed {
			out[name] = s.lastFailure()
		}
	}
	return out
}

// Complete asks, and retries failures that may pass, as long as the attempts and
// ctx allow. Its error is an *Error, or that of ctx.
func (c *Client) Complete(ctx context.Context, r Request) (answer Answer, err error) {
	pace := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(500*time.Millisecond), backoff.WithMultiplier(2), backoff.WithMaxElapsedTime(0))
	for left := c.cfg.Attempts - 1; ; left-- {
		answer, err = c.try(ctx, r)
		var e *Error
		if !errors.As(err, &e) || e.Kind != Unavailable || left == 0 {
			return answer, err
		}
		pause := cmp.Or(e.RetryAfter, min(pace.NextBackOff(), c.cfg.MaxPause))
		deadline, bounded := ctx.Deadline()
		if pause > c.cfg.MaxPause || bounded && time.Now().Add(pause).After(deadline) {
			return answer, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return answer, ctx.Err()
		}
	}
}

// try asks once, or says why it does not.
func (c *Client) try(ctx context.Context, r Request) (Answer, error) {
	claim := fairqueue.Claim{Group: string(r.Stage), Member: r.Tenant}
	if r.Stage != StageRewrite { // a user waits for a search, so that documents leave slots to searches
		claim.Limit = max(1, c.cfg.Parallel-c.cfg.Reserve)
	}
	slot, err := c.tries.Acquire(ctx, claim)
	if err != nil {
		c.account(r, Unsent, Usage{})
		return Answer{}, ctx.Err() // the queue refuses nothing
	}
	defer slot.Release()
	s := c.stages[r.Stage]
	answer, err := s.breaker.Execute(func() (Answer, error) {
		if err, first := c.ledger.refusal(); err != nil {
			if first {
				c.deps.Logger.Warn("the language model is not asked before midnight UTC", "error", err)
			}
			return Answer{}, err
		}
		answer, err := c.ask(ctx, r)
		if err != nil && !answered(err) && !c.saysNothing(err) {
			words := err.Error()
			s.failure.Store(&words)
		}
		return answer, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		err = &Error{Kind: Broken, Err: fmt.Errorf("not asked for a while: it failed with: %w", s.lastFailure())}
	}
	outcome := Answered
	if err != nil {
		outcome = cmp.Or(string(KindOf(err)), Canceled)
	}
	c.account(r, outcome, answer.Usage)
	return answer, err
}

// ask asks the model with a deadline of its own.
func (c *Client) ask(ctx context.Context, r Request) (Answer, error) {
	try, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	began := c.deps.Now()
	answer, err := c.deps.Model.Complete(try, r)
	c.metrics.seconds.WithLabelValues(string(r.Stage)).Observe(c.deps.Now().Sub(began).Seconds())
	answer.Usage = Usage{max(0, answer.Usage.Prompt), max(0, answer.Usage.Completion)} // the endpoint may claim anything
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return answer, ctx.Err()
	case try.Err() != nil:
		return answer, &Error{Kind: TimedOut, Err: fmt.Errorf("no answer within %s", c.cfg.Timeout)}
	case KindOf(err) == "":
		return answer, &Error{Kind: Unavailable, Err: err}
	}
	return answer, err
}

// account adds a try to the accounts and the metrics.
func (c *Client) account(r Request, outcome string, u Usage) {
	dollars, stage := c.ledger.enter(r, outcome, u), string(r.Stage)
	c.metrics.calls.WithLabelValues(stage, outcome).Inc()
	c.metrics.tokens.WithLabelValues(stage, "prompt").Add(float64(u.Prompt))
	c.metrics.tokens.WithLabelValues(stage, "completion").Add(float64(u.Completion))
	c.metrics.dollars.WithLabelValues(stage).Add(dollars)
}
