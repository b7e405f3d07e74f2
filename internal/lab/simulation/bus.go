// Package simulation has made-up users work with the real services. The users click by a click
// model; bus, store and clock are in memory and never wait, so that the same seed gives the
// same outcome.
package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// Bus is the bus, the store and the clock of simulated services, in memory. A published
// message waits until Deliver; a stored value reaches all watchers before Put returns. It may
// be used concurrently.
type Bus struct {
	mu        sync.Mutex // guards all below
	changed   *sync.Cond // of mu: a message was published, or a reader follows or watches
	now       time.Time
	waiting   map[events.Topic][]stream.Message
	offsets   map[events.Topic]uint64
	followers map[events.Topic]func(context.Context, []stream.Message) error
	values    map[string]stream.Entry
	revision  uint64
	watchers  []watcher
}

type watcher struct {
	prefix string
	fn     func(stream.Entry) error
}

// NewBus returns an empty bus at that time.
func NewBus(now time.Time) *Bus {
	b := &Bus{
		now: now, waiting: map[events.Topic][]stream.Message{}, offsets: map[events.Topic]uint64{},
		followers: map[events.Topic]func(context.Context, []stream.Message) error{}, values: map[string]stream.Entry{},
	}
	b.changed = sync.NewCond(&b.mu)
	return b
}

// Now returns the simulated time.
func (b *Bus) Now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// Pass advances the clock.
func (b *Bus) Pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// Publish keeps the messages for Deliver.
func (b *Bus) Publish(_ context.Context, msgs ...stream.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range msgs {
		b.offsets[m.Topic]++
		m.Offset, m.Time = b.offsets[m.Topic], b.now
		b.waiting[m.Topic] = append(b.waiting[m.Topic], m)
	}
	b.changed.Broadcast()
	return nil
}

// Follow has Deliver hand a topic's messages to handle, until ctx ends. A topic has one
// follower, which is there from the beginning.
func (b *Bus) Follow(ctx context.Context, topic events.Topic, _ map[int]uint64, handle func(context.Context, []stream.Message) error) error {
	b.mu.Lock()
	b.followers[topic] = handle
	b.changed.Broadcast()
	b.mu.Unlock()
	<-ctx.Done()
	return nil
}

// End returns how many messages were published.
func (b *Bus) End(_ context.Context, topic events.Topic) (map[int]uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return map[int]uint64{0: b.offsets[topic]}, nil
}

// Await returns once so many followers and watchers are there, or ctx has ended.
func (b *Bus) Await(ctx context.Context, followers, watchers int) error {
	return b.until(ctx, func() bool { return len(b.followers) >= followers && len(b.watchers) >= watchers })
}

// Deliver waits until n messages of a topic are there and hands them to its follower. It
// returns the follower's error.
func (b *Bus) Deliver(ctx context.Context, topic events.Topic, n int) error {
	if n == 0 {
		return nil
	}
	if err := b.until(ctx, func() bool { return len(b.waiting[topic]) >= n && b.followers[topic] != nil }); err != nil {
		return err
	}
	b.mu.Lock()
	msgs, handle := b.waiting[topic], b.followers[topic]
	b.waiting[topic] = nil
	b.mu.Unlock()
	if err := handle(ctx, msgs); err != nil {
		return fmt.Errorf("simulation: deliver %s: %w", topic, err)
	}
	return nil
}

func (b *Bus) until(ctx context.Context, holds func() bool) error {
	stop := context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.changed.Broadcast()
	})
	defer stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !holds() {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.changed.Wait()
	}
	return nil
}

// Create stores a value under a new key and calls its watchers.
func (b *Bus) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	return b.Update(ctx, key, value, 0)
}

// Update stores a value under a key of that revision and calls its watchers.
func (b *Bus) Update(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	b.mu.Lock()
	if b.values[key].Revision != revision {
		b.mu.Unlock()
		return 0, stream.ErrConflict
	}
	b.revision++
	e := stream.Entry{Key: key, Value: slices.Clone(value), Revision: b.revision}
	b.values[key] = e
	b.mu.Unlock()
	return e.Revision, b.tell(e)
}

// tell calls the watchers of a key.
func (b *Bus) tell(e stream.Entry) error {
	b.mu.Lock()
	watchers := slices.Clone(b.watchers)
	b.mu.Unlock()
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

// Get returns the value of a key.
func (b *Bus) Get(_ context.Context, key string) (stream.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.values[key]
	if !ok {
		return e, stream.ErrNotFound
	}
	return e, nil
}

// Delete removes a value and calls the watchers of its key.
func (b *Bus) Delete(_ context.Context, key string) error {
	b.mu.Lock()
	delete(b.values, key)
	b.mu.Unlock()
	return b.tell(stream.Entry{Key: key})
}

// Keys returns the keys that begin with prefix, in order.
func (b *Bus) Keys(_ context.Context, prefix string) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	keys := slices.Sorted(maps.Keys(b.values))
	return slices.DeleteFunc(keys, func(key string) bool { return !strings.HasPrefix(key, prefix) }), nil
}

// Watch calls fn for every value that is put from now on, until ctx ends. It has no earlier
// values to deliver: a bus begins empty, and its watchers are there from the beginning.
func (b *Bus) Watch(ctx context.Context, prefix string, fn func(stream.Entry) error) error {
	b.mu.Lock()
	b.watchers = append(b.watchers, watcher{prefix, fn})
	b.changed.Broadcast()
	b.mu.Unlock()
	<-ctx.Done()
	return nil
}

// State is the state of a trainer, in memory. It has one user.
type State map[string][]byte

// Load calls fn with every record, in the order of the keys.
func (s State) Load(fn func(key string, value []byte) error) error {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if err := fn(key, s[key]); err != nil {
			return err
		}
	}
	return nil
}

// Get returns one record, nil if there is no such record.
func (s State) Get(key string) ([]byte, error) { return slices.Clone(s[key]), nil }

// Erase deletes the records whose keys match.
func (s State) Erase(match func(key string) bool) error {
	maps.DeleteFunc(s, func(key string, _ []byte) bool { return match(key) })
	return nil
}

// Save writes records, and deletes the records whose value is nil.
func (s State) Save(changes map[string][]byte) error {
	for key, value := range changes {
		if value == nil {
			delete(s, key)
			continue
		}
		s[key] = append([]byte{}, value...)
	}
	return nil
}
