package stream

import (
	"context"
	"errors"
	"fmt"
)

// ErrClosed is the error of a call on a bus that was closed.
var ErrClosed = errors.New("the bus is closed")

// Batcher hands the writes of concurrent calls to one send at a time, in the order of the calls.
// Writes that arrive while a send is under way share the next one, so that no write waits for
// company.
type Batcher[T any] struct {
	maxItems, maxBytes int
	send               func([]*Write[T])
	queue              chan *Write[T]
	quit               <-chan struct{}
	ended              chan struct{} // closed once nothing in the queue will be settled
}

// NewBatcher returns a batcher whose Run works until quit is closed. send settles
// every write that it is given; one call takes up to maxItems and maxBytes, or a
// single write that is larger.
func NewBatcher[T any](maxItems, maxBytes int, quit <-chan struct{}, send func([]*Write[T])) *Batcher[T] {
	return &Batcher[T]{
		maxItems: maxItems, maxBytes: maxBytes, send: send,
		queue: make(chan *Write[T], 256), quit: quit, ended: make(chan struct{}),
	}
}

// Write is the write of one call.
type Write[T any] struct {
	Items []T
	bytes int
	ctx   context.Context
	done  chan error
}

// Add adds an item of a size in bytes.
func (w *Write[T]) Add(item T, bytes int) {
	w.Items = append(w.Items, item)
	w.bytes += bytes
}

// Bytes is the size of all items.
func (w *Write[T]) Bytes() int { return w.bytes }

// GivenUp is the error of the context of the call, nil while the call waits.
func (w *Write[T]) GivenUp() error { return w.ctx.Err() }

// Settle reports the outcome of the write, once.
func (w *Write[T]) Settle(err error) { w.done <- err }

// Put queues a write, for Wait. It returns ErrClosed, or the error of ctx, if the
// write will not be sent.
func (b *Batcher[T]) Put(ctx context.Context, w *Write[T]) error {
	w.ctx, w.done = ctx, make(chan error, 1)
	select {
	case <-b.quit:
		return ErrClosed
	default:
	}
	select {
	case b.queue <- w:
		return nil
	case <-b.quit:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Wait returns the outcome of a write.
func (b *Batcher[T]) Wait(ctx context.Context, w *Write[T]) error {
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("not known to be stored: %w", ctx.Err())
	case <-b.ended:
	}
	select {
	case err := <-w.done:
		return err
	default: // it came into the queue while Run ended
		return ErrClosed
	}
}

// WriteAll hands each write to the batcher of its destination and waits for all of them.
func WriteAll[K comparable, T any](ctx context.Context, writes map[K]*Write[T], batcher func(K) (*Batcher[T], error)) error {
	batchers := make(map[K]*Batcher[T], len(writes))
	for to, w := range writes {
		var err error
		if batchers[to], err = batcher(to); err == nil {
			err = batchers[to].Put(ctx, w)
		}
		if err != nil {
			return fmt.Errorf("publish to %v: %w", to, err)
		}
	}
	var errs []error
	for to, w := range writes {
		if err := batchers[to].Wait(ctx, w); err != nil {
			errs = append(errs, fmt.Errorf("publish to %v: %w", to, err))
		}
	}
	return errors.Join(errs...)
}

// Run sends until quit is closed, then empties the queue.
func (b *Batcher[T]) Run() {
	defer close(b.ended)
	for {
		select {
		case w := <-b.queue:
			b.send(b.gather(w))
			continue
		default:
		}
		select {
		case w := <-b.queue:
			b.send(b.gather(w))
		case <-b.quit:
			return
		}
	}
}

// gather adds the other writes in the queue.
func (b *Batcher[T]) gather(w *Write[T]) []*Write[T] {
	group := []*Write[T]{w}
	items, bytes := len(w.Items), w.bytes
	for items < b.maxItems && bytes < b.maxBytes {
		select {
		case w := <-b.queue:
			group = append(group, w)
			items += len(w.Items)
			bytes += w.bytes
		default:
			return group
		}
	}
	return group
}
