package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolstream/toolstream/pkg/events"
)

// batch is the state of one batch between tries: pending messages, and results that are not
// durable yet. A failed publish is repeated without handling anything twice.
type batch struct {
	loop      *Loop
	partition Partition
	pending   []item  // in offset order
	ready     []ready // handled, to be published, in offset order
	last      uint64  // offset of the batch's last message
	committed uint64
}

// item is a message that is not done, and how often it was tried.
type item struct {
	msg      Message
	attempts int
	panics   int
}

// ready is a message's result.
type ready struct {
	item
	out []Message
	err error // permanent: out is nil and a dead letter takes its place
}

func newBatch(l *Loop, p Partition, msgs []Message) *batch {
	b := &batch{loop: l, partition: p, last: msgs[len(msgs)-1].Offset, committed: msgs[0].Offset - 1}
	for _, m := range msgs {
		if !m.Erased {
			b.pending = append(b.pending, item{msg: m})
		}
	}
	return b
}

// step handles the pending messages, publishes the results and commits up to the first message
// that is not done. It returns a transient error while messages are left.
func (b *batch) step(ctx context.Context) error {
	if err := b.flush(ctx); err != nil {
		return err
	}
	failed := b.handle(ctx)
	if err := b.flush(ctx); err != nil {
		return err
	}
	return failed
}

// handle runs the handler on the pending messages and sorts the outcomes.
func (b *batch) handle(ctx context.Context) error {
	if len(b.pending) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, handleTimeout)
	defer cancel()
	outcomes := b.loop.outcomes(ctx, b.pending)
	var failed error
	var left []item
	held := map[string]bool{} // keys with a message that is not done
	for i, o := range outcomes {
		it := b.pending[i]
		if held[it.msg.Key] {
			left = append(left, it)
			continue
		}
		if !errors.Is(o.Err, errHeld) {
			it.attempts++
		}
		err := b.loop.classify(&it, o.Err)
		if _, permanent := AsPermanent(err); err == nil || permanent {
			b.ready = append(b.ready, ready{item: it, out: o.Out, err: err})
			continue
		}
		held[it.msg.Key] = true
		left = append(left, it)
		if failed == nil {
			failed = fmt.Errorf("stage %s: handle offset %d: %w", b.loop.name, it.msg.Offset, err)
		}
	}
	b.pending = left
	return failed
}

// classify counts an outcome's error and makes a second panic permanent.
func (l *Loop) classify(it *item, err error) error {
	var p *panicError
	if _, permanent := AsPermanent(err); err == nil || permanent || errors.Is(err, errHeld) {
		return err
	}
	if !errors.As(err, &p) {
		l.metrics.errors.WithLabelValues(classTransient).Inc()
		return err
	}
	l.metrics.errors.WithLabelValues(classPanic).Inc()
	it.panics++
	if it.panics > 1 {
		return Permanent(ReasonPanic, err)
	}
	return err
}

// outcomes calls the handler. If it panics on the whole batch, it is called
// with each message alone, so that only the culprit fails.
func (l *Loop) outcomes(ctx context.Context, items []item) []Outcome {
	msgs := make([]Message, len(items))
	for i, it := range items {
		msgs[i] = it.msg
	}
	out, err := l.call(ctx, msgs)
	if err == nil {
		return out
	}
	if len(msgs) == 1 {
		return []Outcome{{Err: err}}
	}
	out = make([]Outcome, 0, len(msgs))
	for _, m := range msgs {
		one, err := l.call(ctx, []Message{m})
		if err != nil {
			one = []Outcome{{Err: err}}
		}
		out = append(out, one...)
	}
	return out
}

// call returns as many outcomes as messages; a handler that returns another number is as broken as
// one that panics.
func (l *Loop) call(ctx context.Context, msgs []Message) (out []Outcome, err error) {
	err = caught(func() { out = l.stage.Handler(ctx, msgs) })
	if err == nil && len(out) != len(msgs) {
		err = &panicError{value: fmt.Sprintf("handler returned %d outcomes for %d messages", len(out), len(msgs))}
	}
	return out, err
}

// flush makes the results durable, then commits up to the first message that
// is not done.
func (b *batch) flush(ctx context.Context) error {
	if err := b.publish(ctx); err != nil {
		return err
	}
	through := b.last
	if len(b.pending) > 0 {
		through = b.pending[0].msg.Offset - 1
	}
	if through <= b.committed {
		return nil
	}
	if err := b.loop.bus("commit", b.partition.Commit(ctx, through)); err != nil {
		return err
	}
	b.committed = through
	return nil
}

// publish puts the results and the dead letters on the bus, in that order:
// both before the commit, so neither can be lost.
func (b *batch) publish(ctx context.Context) error {
	var out []Message
	for _, r := range b.ready {
		out = append(out, r.out...)
	}
	if len(out) > 0 {
		err := b.loop.bus("publish", b.loop.send(ctx, out))
		if _, permanent := AsPermanent(err); permanent {
			err = b.publishEach(ctx)
		}
		if err != nil {
			return err
		}
	}
	var letters []events.DeadLetter
	for _, r := range b.ready {
		if r.err != nil {
			letters = append(letters, b.loop.deadLetter(r.msg, r.err, r.attempts))
		}
	}
	if err := b.loop.giveUp(ctx, letters); err != nil {
		return err
	}
	b.loop.metrics.messages.Add(float64(len(b.ready)))
	b.ready = nil
	return nil
}

// publishEach finds the results that the bus refuses for good, and turns them
// into failures of their messages.
func (b *batch) publishEach(ctx context.Context) error {
	for i := range b.ready {
		r := &b.ready[i]
		if len(r.out) == 0 {
			continue
		}
		err := b.loop.bus("publish", b.loop.publisher.Publish(ctx, r.out...))
		if _, permanent := AsPermanent(err); permanent {
			r.out, r.err, err = nil, err, nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
