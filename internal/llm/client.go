package llm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Client asks a Model within bounds. It is a Model itself, and may be called
// concurrently.
type Client struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	gate    *gate
	ledger  *ledger
	loaded  chan struct{} // closed once the accounts of earlier today are known

	mu       sync.Mutex // guards circuits
	circuits map[Stage]*circuit
}

// New returns a client that has asked nothing yet.
func New(cfg Config, deps Deps) (*Client, error) {
	if err := errors.Join(cfg.validate(), deps.validate()); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	book := newLedger(cfg, deps.Now())
	m, err := newMetrics(deps.Registerer, func() float64 { return book.share(deps.Now()) })
	if err != nil {
		return nil, err
	}
	c := &Client{
		cfg: cfg, deps: deps, metrics: m, gate: newGate(cfg, m.load), ledger: book,
		loaded: make(chan struct{}), circuits: map[Stage]*circuit{},
	}
	if deps.Store == nil {
		close(c.loaded)
	}
	return c, nil
}

// Name identifies the model.
func (c *Client) Name() string { return c.deps.Model.Name() }

// Spent returns the accounts of the day.
func (c *Client) Spent() Spent { return c.ledger.spent(c.deps.Now()) }

// circuit returns that of the stage.
func (c *Client) circuit(stage Stage) *circuit {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.circuits[stage] == nil {
		c.circuits[stage] = newCircuit(c.cfg.Breaker, func(s state, cause error) { c.tell(stage, s, cause) })
	}
	return c.circuits[stage]
}

func (c *Client) tell(stage Stage, s state, cause error) {
	c.metrics.breaker.WithLabelValues(string(stage)).Set(float64(s))
	switch {
	case s == open:
		c.deps.Logger.Warn("the language model is not asked for a while", "stage", stage, "for", c.cfg.Breaker.Rest, "error", cause)
	case s == closed && cause != nil:
		c.deps.Logger.Info("the language model is back", "stage", stage)
	}
}

// Complete asks, and asks again where the failure may pass, as long as the
// attempts and ctx allow. Its error is an *Error, or that of ctx.
func (c *Client) Complete(ctx context.Context, r Request) (Answer, error) {
	select {
	case <-c.loaded:
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	var answer Answer
	var last error
	pause := newPause(ctx, c.cfg)
	err := backoff.Retry(func() error {
		answer, last = c.try(ctx, r)
		return pause.after(last)
	}, backoff.WithContext(pause, ctx))
	if err != nil && KindOf(last) != "" && ctx.Err() == nil {
		err = last
	}
	return answer, err
}

// pause paces the tries of one call.
type pause struct {
	backoff.BackOff
	ctx      context.Context
	patience time.Duration
	left     int           // tries
	asked    time.Duration // what the endpoint asks to wait
}

const firstPause = 500 * time.Millisecond

func newPause(ctx context.Context, c Config) *pause {
	return &pause{ctx: ctx, patience: c.Patience, left: c.Attempts, BackOff: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(firstPause), backoff.WithMultiplier(2),
		backoff.WithMaxInterval(c.Patience), backoff.WithMaxElapsedTime(0),
	)}
}

// after notes what came of a try, and marks what is not to be tried again.
func (p *pause) after(err error) error {
	p.left--
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) || e.Kind != Unavailable || p.left <= 0 {
		return backoff.Permanent(err)
	}
	p.asked = e.RetryAfter
	return err
}

// NextBackOff returns the pause before the next try, or backoff.Stop where
// nobody would be there any more to hear the answer.
func (p *pause) NextBackOff() time.Duration {
	next := p.BackOff.NextBackOff()
	if p.asked > 0 {
		next = p.asked
	}
	deadline, bounded := p.ctx.Deadline()
	if next > p.patience || bounded && time.Now().Add(next).After(deadline) {
		return backoff.Stop
	}
	return next
}

// try asks once, or says why it does not.
func (c *Client) try(ctx context.Context, r Request) (answer Answer, err error) {
	circuit := c.circuit(r.Stage)
	if err := c.admit(ctx, r, circuit); err != nil {
		c.account(r, unsent(err), Usage{})
		return Answer{}, err
	}
	began := c.deps.Now()
	err = errPanic // unless ask returns: whoever is let in leaves, however
	defer func() { c.settle(r, circuit, began, answer.Usage, err) }()
	answer, err = c.ask(ctx, r)
	return answer, err
}

// settle notes what came of a try that was let in.
func (c *Client) settle(r Request, circuit *circuit, began time.Time, u Usage, err error) {
	now := c.deps.Now()
	c.metrics.seconds.WithLabelValues(string(r.Stage)).Observe(now.Sub(began).Seconds())
	c.account(r, outcome(err), u)
	if e := (*Error)(nil); errors.As(err, &e) && e.RetryAfter > 0 {
		c.gate.shut(now.Add(e.RetryAfter))
	}
	circuit.end(now, judge(err), err)
	c.gate.leave(began, now, loadOf(err))
}

// admit waits for a turn, in the order of what costs nothing first.
func (c *Client) admit(ctx context.Context, r Request, circuit *circuit) error {
	if err := circuit.ready(c.deps.Now()); err != nil {
		return err
	}
	if err := c.affordable(); err != nil {
		return err
	}
	if err := c.turn(ctx, r.Stage); err != nil {
		return err
	}
	err := c.affordable() // others may have spent it meanwhile
	if err == nil {
		err = circuit.begin(c.deps.Now())
	}
	if err != nil {
		c.gate.back()
	}
	return err
}

// turn waits until the endpoint may be asked and there is room. The endpoint
// may want to be left alone by the time there is room.
func (c *Client) turn(ctx context.Context, stage Stage) error {
	for {
		if err := c.await(ctx); err != nil {
			return err
		}
		if err := c.gate.enter(ctx, stage); err != nil {
			return err
		}
		if c.gate.opens(c.deps.Now()) == 0 {
			return nil
		}
		c.gate.back()
	}
}

func (c *Client) affordable() error {
	err, first := c.ledger.refusal(c.deps.Now())
	if first {
		c.deps.Logger.Warn("the language model is not asked before midnight UTC", "error", err)
	}
	return err
}

// await waits for the time until which the endpoint wants to be left alone, or
// says so where that is too long.
func (c *Client) await(ctx context.Context) error {
	wait := c.gate.opens(c.deps.Now())
	if wait == 0 {
		return nil
	}
	deadline, bounded := ctx.Deadline()
	if wait > c.cfg.Patience || bounded && time.Now().Add(wait).After(deadline) {
		return &Error{Kind: Unavailable, RetryAfter: wait, Err: fmt.Errorf("%w for another %s", errLeftAlone, wait.Round(time.Millisecond))}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var (
	errLeftAlone = errors.New("it asked not to be asked")
	errLate      = errors.New("no answer")
	errPanic     = &Error{Kind: Unavailable, Err: errors.New("asking panicked")}
)

// ask asks the model with a deadline of its own.
func (c *Client) ask(ctx context.Context, r Request) (Answer, error) {
	try, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	answer, err := c.deps.Model.Complete(try, r)
	answer.Usage = Usage{max(0, answer.Usage.Prompt), max(0, answer.Usage.Completion)} // it is what the endpoint says
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return answer, ctx.Err()
	case try.Err() != nil:
		return answer, &Error{Kind: Unavailable, Err: fmt.Errorf("%w within %s", errLate, c.cfg.Timeout)}
	case KindOf(err) == "":
		return answer, &Error{Kind: Unavailable, Err: err}
	}
	return answer, err
}

func (c *Client) account(r Request, outcome string, u Usage) {
	c.ledger.enter(c.deps.Now(), r, outcome, u)
	c.metrics.count(r.Stage, outcome, u, c.ledger.dollarsOf(u), 1)
}

// outcome names how a try ended that was sent.
func outcome(err error) string {
	switch kind := KindOf(err); {
	case err == nil:
		return Answered
	case kind == "":
		return Canceled
	default:
		return string(kind)
	}
}

// unsent names why a try was not sent.
func unsent(err error) string {
	if kind := KindOf(err); kind == Broken || kind == Exhausted {
		return string(kind)
	}
	return Unsent
}

// judge says what the end of a try means for the circuit. A caller whose time
// is over while it waits for an answer has seen the endpoint fail; one that is
// canceled has not.
func judge(err error) verdict {
	var e *Error
	switch {
	case errors.Is(err, context.Canceled):
		return unheard
	case errors.As(err, &e) && e.Busy:
		return crowded
	case errors.As(err, &e) && e.Kind != Unavailable && e.Kind != Setup, err == nil:
		return alive
	}
	return failing
}

// loadOf says what the end of a try means for the limit. A caller's own
// deadline says nothing: it may be short for good reasons.
func loadOf(err error) load {
	var e *Error
	switch {
	case err == nil:
		return loadGood
	case !errors.As(err, &e):
		return loadSame
	case e.Busy, errors.Is(err, errLate):
		return loadHigh
	}
	return loadSame
}
