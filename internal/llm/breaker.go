package llm

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// circuit is whether a stage asks at all. Each stage has its own: an endpoint
// that is too slow for a search may be good enough for an import.
type circuit struct {
	cfg     Breaker
	changed func(s state, cause error)

	mu      sync.Mutex // guards what follows
	state   state
	since   time.Time // when it opened
	row     int       // failures in a row
	recent  []bool    // whether calls failed, as a ring
	next    int       // place in the ring
	cause   error     // of the last failure
	probing bool      // a call tries whether the endpoint is back
}

// state of a circuit, as the metric shows it.
type state int

const (
	closed   state = iota // asks
	halfOpen              // one call tries
	open                  // does not ask
)

func newCircuit(cfg Breaker, changed func(state, error)) *circuit {
	changed(closed, nil)
	return &circuit{cfg: cfg, changed: changed}
}

// ready says why there is no use in waiting for a turn; nil: there is.
func (c *circuit) ready(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refusal(now)
}

// begin lets a try through, or says why not. Whoever is let through ends.
func (c *circuit) begin(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refusal(now); err != nil {
		return err
	}
	if c.state != closed {
		c.probing = true
		c.move(halfOpen)
	}
	return nil
}

func (c *circuit) refusal(now time.Time) error {
	left := c.since.Add(c.cfg.Rest).Sub(now)
	switch {
	case c.state == closed, left <= 0 && !c.probing:
		return nil
	case c.probing:
		return &Error{Kind: Broken, Err: fmt.Errorf("another call tries whether it is back; it failed with: %w", plain(c.cause))}
	}
	return &Error{Kind: Broken, RetryAfter: left, Err: fmt.Errorf("not asked for another %s; it failed with: %w", left.Round(time.Second), plain(c.cause))}
}

// plain is an error without its kind, which is not that of who is refused.
func plain(err error) error { return errors.New(err.Error()) }

// verdict is what a try says about the endpoint.
type verdict int

const (
	unheard verdict = iota // nothing: the caller went away
	alive                  // it answers, whatever
	crowded                // it answers that it is asked too much
	failing                // it does not answer, or is set up wrong
)

// end notes how a try that was let through ended.
func (c *circuit) end(now time.Time, v verdict, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != closed {
		c.probed(now, v, cause)
		return
	}
	switch v {
	case unheard:
		return
	case alive:
		c.row = 0
	case failing:
		c.row++
	}
	if v != alive {
		c.cause = cause
	}
	c.note(v != alive)
	if c.row >= c.cfg.Row || c.mostlyFailed() {
		c.trip(now)
	}
}

// probed judges by the call that tried. Stragglers from before the circuit
// opened come here too, and an answer is an answer.
func (c *circuit) probed(now time.Time, v verdict, cause error) {
	switch {
	case v == alive:
		c.probing = false
		c.move(closed)
	case c.state == halfOpen && v == unheard:
		c.probing = false // the next one may try at once
	case c.state == halfOpen:
		c.cause = cause
		c.trip(now)
	}
}

func (c *circuit) trip(now time.Time) {
	c.since, c.row, c.recent, c.next, c.probing = now, 0, nil, 0, false
	c.move(open)
}

func (c *circuit) move(to state) {
	if c.state != to {
		c.state = to
		c.changed(to, c.cause)
	}
}

func (c *circuit) note(failed bool) {
	if len(c.recent) < c.cfg.Window {
		c.recent = append(c.recent, failed)
		return
	}
	c.recent[c.next] = failed
	c.next = (c.next + 1) % len(c.recent)
}

func (c *circuit) mostlyFailed() bool {
	if len(c.recent) < c.cfg.Window {
		return false
	}
	n := 0
	for _, failed := range c.recent {
		if failed {
			n++
		}
	}
	return float64(n) >= c.cfg.Share*float64(len(c.recent))
}
