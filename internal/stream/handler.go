package stream

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/sourcegraph/conc/pool"
)

// Handler does a stage's work.
type Handler interface {
	// Handle returns one outcome for each message, in their order. It may be
	// called again with messages that it has handled before. ctx outlives a
	// shutdown by the stage's drain time.
	Handle(ctx context.Context, msgs []Message) []Outcome
}

// Outcome is what became of one message: what to publish, perhaps nothing, or
// why it failed. With an Err, Out is ignored.
type Outcome struct {
	Out []Message
	Err error
}

// errHeld is the outcome of a message behind a failed one of the same key. It
// was not tried.
var errHeld = errors.New("held behind an earlier message of its key")

// panicError is a recovered panic.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// caught runs fn and returns its panic as an error.
func caught(fn func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{value: v, stack: debug.Stack()}
		}
	}()
	fn()
	return nil
}

// each is the Handler that Each returns.
type each struct {
	workers int
	fn      func(context.Context, Message) ([]Message, error)
}

// Each returns a handler that runs fn on up to workers messages at once.
// Messages of one key run in order, and those behind a transient failure wait
// for its retry; a permanent failure lets the next one through. A panic fails
// its own message only.
func Each(workers int, fn func(context.Context, Message) ([]Message, error)) Handler {
	return each{workers: max(workers, 1), fn: fn}
}

// Handle implements Handler.
func (e each) Handle(ctx context.Context, msgs []Message) []Outcome {
	outcomes := make([]Outcome, len(msgs))
	p := pool.New().WithMaxGoroutines(e.workers) // a pool does not survive its Wait
	for _, chain := range chains(msgs) {
		p.Go(func() { e.run(ctx, msgs, chain, outcomes) })
	}
	p.Wait()
	return outcomes
}

// run handles the messages of one key; it alone writes their outcomes.
func (e each) run(ctx context.Context, msgs []Message, chain []int, outcomes []Outcome) {
	held := false
	for _, i := range chain {
		if held {
			outcomes[i].Err = errHeld
			continue
		}
		outcomes[i] = e.one(ctx, msgs[i])
		_, permanent := AsPermanent(outcomes[i].Err)
		held = outcomes[i].Err != nil && !permanent
	}
}

func (e each) one(ctx context.Context, m Message) (o Outcome) {
	if err := caught(func() { o.Out, o.Err = e.fn(within(ctx, m), m) }); err != nil {
		o.Err = err
	}
	return o
}

// chains returns the indexes of each key's messages, keys by first appearance.
func chains(msgs []Message) [][]int {
	at := make(map[string]int, len(msgs))
	var out [][]int
	for i, m := range msgs {
		c, seen := at[m.Key]
		if !seen {
			c = len(out)
			at[m.Key] = c
			out = append(out, nil)
		}
		out[c] = append(out[c], i)
	}
	return out
}
