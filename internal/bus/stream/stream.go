// Package stream is the one consume loop that all stages share, and the bus as
// the stages see it.
//
// The bus is a set of logs: a topic has partitions, a partition is an ordered
// sequence of messages, a consumer commits the offset up to which it is done.
// That is the smallest contract under which one key's changes stay in order
// and a crash repeats work instead of losing it.
package stream

import (
	"context"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
)

// Message is one record on the bus.
type Message struct {
	Topic   events.Topic
	Key     string
	Value   []byte
	Headers map[string]string

	// Partition, Offset and Time are set on what is read and ignored on what
	// is published. Offsets rise within a partition, with gaps where a topic
	// is compacted.
	Partition int
	Offset    uint64
	Time      time.Time

	// Erased says of what is read that its tenant was erased: the value is withheld,
	// and the message counts as handled.
	Erased bool
}

// IsNull reports whether a message ends its key, long after the delete of its
// entity, so that compaction can drop the key. Only one that says its revision
// does; any other without a value is damaged.
func (m Message) IsNull() bool {
	return m.Key != "" && len(m.Value) == 0 && m.Headers[events.HeaderRevision] != ""
}

// Publisher puts messages on the bus.
type Publisher interface {
	// Publish returns nil once every message is durable. Messages of one key
	// keep their order. After an error any part of them may be on the bus:
	// the caller publishes all of them again, or gives up.
	Publish(ctx context.Context, msgs ...Message) error
}

// Republisher puts a message that was read back to the end of its topic.
type Republisher interface {
	// Republish publishes m, whose Partition and Offset say where it was read.
	// On a compacted topic it does so only while m is the newest message of
	// its key, and returns false otherwise: an old record must not replace a
	// newer one.
	Republish(ctx context.Context, m Message) (done bool, err error)
}

// Partition is the sequence of messages that one handler reads.
type Partition interface {
	// Fetch returns the next messages in order, at least one and at most max.
	// It blocks until there is one. Once the caller has lost the partition, or
	// ctx ends, it returns an error.
	Fetch(ctx context.Context, max int) ([]Message, error)
	// Commit makes through the offset from which a later owner does not read
	// again: the next Fetch anywhere starts above it.
	Commit(ctx context.Context, through uint64) error
}

// Ends tells where the topics end.
type Ends interface {
	// End returns each partition's last offset, to tell when a reader has
	// caught up. An empty partition has 0.
	End(ctx context.Context, topic events.Topic) (map[int]uint64, error)
}

// Groups hands the partitions of a topic to the members of a named group, each
// partition to one member at a time.
type Groups interface {
	Ends
	// Consume calls handle for each partition assigned to this process,
	// concurrently, and again after a reassignment; a handler's ctx ends when
	// its partition is taken away. It returns when ctx ends (nil) or a handler
	// fails (its error).
	Consume(ctx context.Context, topic events.Topic, group string, handle func(context.Context, Partition) error) error
}

// Follower reads a whole topic from offsets that the reader keeps itself: for
// those who store what they have read together with how far they have read.
type Follower interface {
	Ends
	// Follow delivers the messages above from (by partition; absent reads
	// from the beginning) in order, batch by batch, until ctx ends (nil) or
	// handle fails (its error). Compacted topics deliver what is left.
	Follow(ctx context.Context, topic events.Topic, from map[int]uint64, handle func(context.Context, []Message) error) error
}

// Topics makes and removes the topics of index versions, which come and go.
type Topics interface {
	// Create makes the topic unless it is there.
	Create(ctx context.Context, topic events.Topic) error
	// Remove deletes what the topic holds, and the topic unless it is one of
	// events.Topics. Nobody may use it at the time.
	Remove(ctx context.Context, topic events.Topic) error
	// Versions returns the numbers of the index versions from 2 on that have a topic.
	Versions(ctx context.Context) ([]int, error)
	// Forget lets a group that has no members begin anew with a topic.
	Forget(ctx context.Context, topic events.Topic, group string) error
}
