package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// World is the bus, the store and the clock of simulated services. What is
// published waits until it is delivered; what is put into the store is seen by
// all who watch before Put returns. It may be used concurrently.
type World struct {
	mu        sync.Mutex // guards all below
	changed   *sync.Cond // of mu: a message was published, or somebody follows or watches
	now       time.Time
	waiting   map[events.Topic][]stream.Message
	offsets   map[events.Topic]uint64
	followers map[events.Topic]func(context.Context, []stream.Message) error
	values    map[string][]byte
	watchers  []watcher
}

type watcher struct {
	prefix string
	fn     func(stream.Entry) error
}

// NewWorld returns an empty world at that time.
func NewWorld(now time.Time) *World {
	w := &World{
		now: now, waiting: map[events.Topic][]stream.Message{}, offsets: map[events.Topic]uint64{},
		followers: map[events.Topic]func(context.Context, []stream.Message) error{}, values: map[string][]byte{},
	}
	w.changed = sync.NewCond(&w.mu)
	return w
}

// Now returns the world's time.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// Pass lets time pass.
func (w *World) Pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// Publish keeps the messages for Deliver.
func (w *World) Publish(_ context.Context, msgs ...stream.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range msgs {
		w.offsets[m.Topic]++
		m.Offset, m.Time = w.offsets[m.Topic], w.now
		w.waiting[m.Topic] = append(w.waiting[m.Topic], m)
	}
	w.changed.Broadcast()
	return nil
}

// Follow lets Deliver hand a topic's messages to handle, until ctx ends. A topic
// has one follower, who is there from the beginning.
func (w *World) Follow(ctx context.Context, topic events.Topic, _ map[int]uint64, handle func(context.Context, []stream.Message) error) error {
	w.mu.Lock()
	w.followers[topic] = handle
	w.changed.Broadcast()
	w.mu.Unlock()
	<-ctx.Done()
	return nil
}

// End returns how many messages were published.
func (w *World) End(_ context.Context, topic events.Topic) (map[int]uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return map[int]uint64{0: w.offsets[topic]}, nil
}

// Await returns once so many follow and watch, or ctx has ended.
func (w *World) Await(ctx context.Context, followers, watchers int) error {
	return w.until(ctx, func() bool { return len(w.followers) >= followers && len(w.watchers) >= watchers })
}

// Deliver waits until n messages of a topic are there and hands them to its
// follower. It returns what the follower does.
func (w *World) Deliver(ctx context.Context, topic events.Topic, n int) error {
	if n == 0 {
		return nil
	}
	if err := w.until(ctx, func() bool { return len(w.waiting[topic]) >= n && w.followers[topic] != nil }); err != nil {
		return err
	}
	w.mu.Lock()
	msgs, handle := w.waiting[topic], w.followers[topic]
	w.waiting[topic] = nil
	w.mu.Unlock()
	if err := handle(ctx, msgs); err != nil {
		return fmt.Errorf("simulation: deliver %s: %w", topic, err)
	}
	return nil
}

func (w *World) until(ctx context.Context, holds func() bool) error {
	stop := context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changed.Broadcast()
	})
	defer stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !holds() {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.changed.Wait()
	}
	return nil
}

// Put stores a value and tells all who watch its key.
func (w *World) Put(_ context.Context, key string, value []byte) error {
	w.mu.Lock()
	w.values[key] = slices.Clone(value)
	w.mu.Unlock()
	return w.tell(stream.Entry{Key: key, Value: value})
}

// tell calls all who watch a key.
func (w *World) tell(e stream.Entry) error {
	w.mu.Lock()
	watchers := slices.Clone(w.watchers)
	w.mu.Unlock()
	for _, x := range watchers {
		if !strings.HasPrefix(e.Key, x.prefix) {
			continue
		}
		if err := x.fn(e); err != nil {
			return err
		}
	}
	return nil
}

// Get returns a value, nil where there is none.
func (w *World) Get(_ context.Context, key string) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.values[key]), nil
}

// Delete removes a value and tells all who watch its key.
func (w *World) Delete(_ context.Context, key string) error {
	w.mu.Lock()
	delete(w.values, key)
	w.mu.Unlock()
	return w.tell(stream.Entry{Key: key})
}

// Keys returns the keys that begin with prefix, in order.
func (w *World) Keys(_ context.Context, prefix string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := slices.Sorted(maps.Keys(w.values))
	return slices.DeleteFunc(keys, func(key string) bool { return !strings.HasPrefix(key, prefix) }), nil
}

// Watch calls fn for every value that is put from now on, until ctx ends: a
// world begins empty, with those who watch it.
func (w *World) Watch(ctx context.Context, prefix string, fn func(stream.Entry) error) error {
	w.mu.Lock()
	w.watchers = append(w.watchers, watcher{prefix, fn})
	w.changed.Broadcast()
	w.mu.Unlock()
	<-ctx.Done()
	return nil
}
