// Package stream is the one consume loop that all stages share, and the bus as
// the stages see it.
//
// The bus is a set of logs: a topic has partitions, a partition is an ordered sequence of
// messages, a consumer commits the offset of the last message that it has handled. With this
// small contract, the changes of a key stay in order and a crash repeats work instead of losing
// it.
package stream

import (
	"context"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
)

// CompactionLag is how long compaction leaves a record of a topic that several processes write in
// place: until then the newest record of a key can be published again if an older one follows it.
const CompactionLag = 24 * time.Hour

// Message is one record on the bus.
type Message struct {
	Topic   events.Topic
	Key     string
	Value   []byte
	Headers map[string]string

	// Partition, Offset and Time are set on messages that are read and ignored on publishing.
	// Offsets rise within a partition, with gaps if the topic is compacted.
	Partition int
	Offset    uint64
	Time      time.Time

	// Erased means that the tenant of the message was erased: the value is withheld, and the
	// message counts as handled.
	Erased bool
}

// IsNull reports whether a message ends its key, long after the delete of its entity, so that
// compaction can drop the key. It needs a revision for that; any other message without a value
// is damaged.
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
	// Republish publishes m, which was read at its Partition and Offset. On a compacted topic
	// it does so only while m is the newest message of its key, and returns false otherwise: an
	// old record must not replace a newer one.
	Republish(ctx context.Context, m Message) (done bool, err error)
}

// Partition is the sequence of messages that one handler reads.
type Partition interface {
	// Fetch returns the next messages in order, at least one and at most max.
	// It blocks until there is one. Once the caller has lost the partition, or
	// ctx ends, it returns an error.
	Fetch(ctx context.Context, max int) ([]Message, error)
	// Commit marks messages up to through as handled: the next Fetch of any owner starts above
	// it.
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

// Follower reads a whole topic from offsets that the reader keeps, for readers that store
// records and their position together.
type Follower interface {
	Ends
	// Follow delivers the messages above from (by partition; absent reads from the beginning)
	// in order, batch by batch, until ctx ends (nil) or handle fails (its error). Compacted
	// topics deliver the remaining messages.
	Follow(ctx context.Context, topic events.Topic, from map[int]uint64, handle func(context.Context, []Message) error) error
}

// Topics creates and removes the topics of index versions.
type Topics interface {
	// Create creates the topic unless it exists.
	Create(ctx context.Context, topic events.Topic) error
	// Remove deletes the records of the topic, and the topic itself unless it belongs to
	// events.Topics. The topic must not be in use.
	Remove(ctx context.Context, topic events.Topic) error
	// Versions returns the numbers of the index versions from 2 on that have a topic.
	Versions(ctx context.Context) ([]int, error)
	// Forget resets the position of a group without members in a topic.
	Forget(ctx context.Context, topic events.Topic, group string) error
}
