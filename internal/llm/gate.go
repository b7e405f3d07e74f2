package llm

import (
	"context"
	"slices"
	"sync"
	"time"
)

// gate lets so many tries through at once as the endpoint bears: one more
// after as many good answers as there may be tries, half as many when it is
// asked for less or does not answer in time (AIMD, as TCP does it). Rewriting
// goes first, because somebody waits for it.
type gate struct {
	most, reserve int
	changed       func(limit, busy int)

	mu      sync.Mutex // guards what follows
	limit   float64
	busy    int
	urgent  []*waiter
	patient []*waiter
	cut     time.Time // when the limit was halved last
	closed  time.Time // until when the endpoint asked to be left alone
}

// waiter waits for its turn. Whoever gives it sets given before it closes turn.
type waiter struct {
	turn  chan struct{}
	given bool
}

func newGate(c Config, changed func(limit, busy int)) *gate {
	g := &gate{most: c.Parallel, reserve: c.Reserve, limit: float64(c.Start), changed: changed}
	changed(c.Start, 0)
	return g
}

// enter waits until a try of the stage may begin, or ctx ends. Whoever was let
// in leaves.
func (g *gate) enter(ctx context.Context, stage Stage) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	w := &waiter{turn: make(chan struct{})}
	if stage == StageRewrite {
		g.urgent = append(g.urgent, w)
	} else {
		g.patient = append(g.patient, w)
	}
	g.admit()
	g.mu.Unlock()
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
		return g.giveUp(ctx, w)
	}
}

// giveUp takes w out of the line, and its turn back if that has just come.
func (g *gate) giveUp(ctx context.Context, w *waiter) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	is := func(other *waiter) bool { return other == w }
	g.urgent, g.patient = slices.DeleteFunc(g.urgent, is), slices.DeleteFunc(g.patient, is)
	if w.given {
		g.busy--
	}
	g.admit() // who stood behind it may go
	return ctx.Err()
}

// admit gives turns while there is room. The caller holds mu.
func (g *gate) admit() {
	for len(g.urgent) > 0 && g.busy < int(g.limit) {
		g.urgent = g.give(g.urgent)
	}
	for len(g.urgent) == 0 && len(g.patient) > 0 && g.busy < max(1, int(g.limit)-g.reserve) {
		g.patient = g.give(g.patient)
	}
	g.changed(int(g.limit), g.busy)
}

func (g *gate) give(line []*waiter) []*waiter {
	g.busy++
	line[0].given = true
	close(line[0].turn)
	return line[1:]
}

// How a try ended, as the gate sees it.
type load int

const (
	loadSame load = iota // says nothing about what the endpoint bears
	loadGood             // it answered
	loadHigh             // it asked for less, or did not answer in time
)

// leave ends a try that began at the time. Tries that began before the limit
// was halved say nothing about the new limit.
func (g *gate) leave(began, now time.Time, l load) {
	g.mu.Lock()
	defer g.mu.Unlock()
	full := g.busy+g.reserve >= int(g.limit)
	g.busy--
	switch {
	case l == loadHigh && !began.Before(g.cut):
		g.limit, g.cut = max(1, float64(int(g.limit)/2)), now
	case l == loadGood && full:
		g.limit = min(float64(g.most), g.limit+1/g.limit)
	}
	g.admit()
}

// back ends a try that was let in and not sent.
func (g *gate) back() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy--
	g.admit()
}

// shut remembers until when the endpoint wants to be left alone.
func (g *gate) shut(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until.After(g.closed) {
		g.closed = until
	}
}

// opens returns how long the endpoint wants to be left alone yet.
func (g *gate) opens(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(0, g.closed.Sub(now))
}
