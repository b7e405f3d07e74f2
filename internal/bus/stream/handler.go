package stream

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/sourcegraph/conc/pool"
)

// Handler does a stage's work. It returns one outcome for each message, in their order. It may
// be called again with messages that it has handled before. ctx outlives a shutdown by the
// stage's drain time.
type Handler func(ctx context.Context, msgs []Message) []Outcome

// Outcome is the result of one message: messages to publish, perhaps none, or an error. With an
// Err, Out is ignored.
type Outcome struct {
	Out []Message
	Err error
}

// errHeld is the outcome of a message that was not tried because it is behind a failed message of
// the same key.
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

// Each returns a handler that runs fn on up to workers messages at once. Messages of one key
// run in order: a transient failure blocks the next ones until its retry, a permanent failure
// does not. A panic fails its own message only.
func Each(workers int, fn func(context.Context, Message) ([]Message, error)) Handler {
	return func(ctx context.Context, msgs []Message) []Outcome {
		outcomes := make([]Outcome, len(msgs))
		p := pool.New().WithMaxGoroutines(max(workers, 1)) // a pool does not survive its Wait
		for _, chain := range chains(msgs) {
			p.Go(func() { // it alone writes the outcomes of its key
				held := false
				for _, i := range chain {
					m, o := msgs[i], &outcomes[i]
					if held {
						o.Err = errHeld
						continue
					}
					if err := caught(func() { o.Out, o.Err = fn(within(ctx, m), m) }); err != nil {
						o.Err = err
					}
					_, permanent := AsPermanent(o.Err)
					held = o.Err != nil && !permanent
				}
			})
		}
		p.Wait()
		return outcomes
	}
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
