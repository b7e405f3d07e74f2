package streamtest

import (
	"context"
	"errors"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

var (
	_ stream.Publisher   = (*Bus)(nil)
	_ stream.Republisher = (*Bus)(nil)
	_ stream.Groups      = (*Bus)(nil)
	_ stream.Follower    = (*Bus)(nil)
)

// ErrClosed is the error of every call on a closed bus.
var ErrClosed = errors.New("streamtest: bus is closed")

// Bus is a stream.Publisher, stream.Groups and stream.Follower in memory. It
// copies its input and its output. All methods may be called concurrently.
type Bus struct {
	partitions int

	mu        sync.Mutex // guards all below
	logs      map[source][]stream.Message
	ends      map[source]uint64
	published map[events.Topic][]stream.Message
	committed map[claim]uint64
	leases    map[claim]chan struct{}
	grown     chan struct{} // closed, and replaced, when any log grows or the bus closes
	fail      func(Call) error
	keeps     bool // compaction is suspended
	closed    bool
}

// source is one partition's log; claim is one group's hold on it.
type (
	source struct {
		topic     events.Topic
		partition int
	}
	claim struct {
		group string
		source
	}
)

// NewBus returns an empty bus whose topics have one partition each.
func NewBus() *Bus { return NewPartitionedBus(1) }

// NewPartitionedBus returns an empty bus whose topics have n partitions each.
func NewPartitionedBus(n int) *Bus {
	return &Bus{
		partitions: n,
		logs:       map[source][]stream.Message{},
		ends:       map[source]uint64{},
		published:  map[events.Topic][]stream.Message{},
		committed:  map[claim]uint64{},
		leases:     map[claim]chan struct{}{},
		grown:      make(chan struct{}),
	}
}

// Publish appends the messages; a compacted topic drops the messages they replace.
func (b *Bus) Publish(ctx context.Context, msgs ...stream.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.fault(Call{Op: OpPublish, Messages: msgs}); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	for _, m := range msgs {
		b.append(clone(m))
	}
	b.wake()
	return nil
}

// Republish appends the message again unless a compacted topic holds a newer
// message of its key.
func (b *Bus) Republish(ctx context.Context, m stream.Message) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if err := b.fault(Call{Op: OpPublish, Messages: []stream.Message{m}}); err != nil {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false, ErrClosed
	}
	if m.Topic.Compacted() {
		var newest uint64 // offset of the last message of the key, or 0
		for _, old := range b.logs[source{m.Topic, m.Partition}] {
			if old.Key == m.Key {
				newest = old.Offset
			}
		}
		if newest == 0 || newest != m.Offset {
			return false, nil
		}
	}
	b.append(clone(m))
	b.wake()
	return true, nil
}

// KeepAll suspends compaction.
func (b *Bus) KeepAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keeps = true
}

// Compact compacts all compacted topics.
func (b *Bus) Compact() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for src, log := range b.logs {
		if !src.topic.Compacted() {
			continue
		}
		last := map[string]uint64{}
		for _, m := range log {
			last[m.Key] = m.Offset
		}
		b.logs[src] = slices.DeleteFunc(log, func(m stream.Message) bool { return last[m.Key] != m.Offset })
	}
}

// append adds one message that the bus owns. The caller holds mu.
func (b *Bus) append(m stream.Message) {
	h := fnv.New32a()
	h.Write([]byte(m.Key))
	src := source{m.Topic, int(h.Sum32() % uint32(b.partitions))}
	b.ends[src]++
	m.Partition, m.Offset, m.Time = src.partition, b.ends[src], time.Now()
	if m.Topic.Compacted() && !b.keeps {
		b.logs[src] = slices.DeleteFunc(b.logs[src], func(old stream.Message) bool { return old.Key == m.Key })
	}
	b.logs[src] = append(b.logs[src], m)
	b.published[m.Topic] = append(b.published[m.Topic], m)
}

// wake wakes every waiting reader. The caller holds mu.
func (b *Bus) wake() {
	close(b.grown)
	b.grown = make(chan struct{})
}

// next blocks until src holds messages above after and returns at most max.
func (b *Bus) next(ctx context.Context, src source, after uint64, max int) ([]stream.Message, error) {
	for {
		msgs, grown, err := b.above(src, after, max)
		if err != nil || len(msgs) > 0 {
			return msgs, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-grown:
		}
	}
}

func (b *Bus) above(src source, after uint64, max int) ([]stream.Message, <-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, nil, ErrClosed
	}
	log := b.logs[src]
	from, _ := slices.BinarySearchFunc(log, after+1, func(m stream.Message, offset uint64) int {
		return int(int64(m.Offset) - int64(offset))
	})
	var out []stream.Message
	for _, m := range log[from:min(from+max, len(log))] {
		out = append(out, clone(m))
	}
	return out, b.grown, nil
}

// Close makes every call fail, including calls that are waiting.
func (b *Bus) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wake()
	return nil
}

// Reopen undoes Close: stored messages and commits are still there, as after a
// restart of the process.
func (b *Bus) Reopen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = false
}

// Messages returns the present messages of the topic, partition by partition, in order.
func (b *Bus) Messages(topic events.Topic) []stream.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []stream.Message
	for p := range b.partitions {
		for _, m := range b.logs[source{topic, p}] {
			out = append(out, clone(m))
		}
	}
	return out
}

// Published returns everything ever published to the topic, in order, including
// messages that compaction has dropped.
func (b *Bus) Published(topic events.Topic) []stream.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []stream.Message
	for _, m := range b.published[topic] {
		out = append(out, clone(m))
	}
	return out
}

// Await blocks until done returns true or ctx ends. It calls done after every
// Publish and every Commit.
func (b *Bus) Await(ctx context.Context, done func() bool) error {
	for {
		b.mu.Lock()
		grown := b.grown
		b.mu.Unlock()
		if done() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-grown:
		}
	}
}

func clone(m stream.Message) stream.Message {
	m.Value = slices.Clone(m.Value)
	m.Headers = maps.Clone(m.Headers)
	return m
}
