package kafka

import (
	"context"

	"github.com/toolstream/toolstream/internal/bus/stream"
)

// Republish implements stream.Republisher. Kafka cannot compare as it stores. A newer record of
// the key that arrives between the check and the write ends up before m, as with any two
// concurrent writes: the index writer finds that.
func (b *Bus) Republish(ctx context.Context, m stream.Message) (bool, error) {
	if !m.Topic.Compacted() {
		return true, b.Publish(ctx, m)
	}
	partitions, err := b.awaitPartitions(ctx, opMeta, m.Topic)
	if err != nil {
		return false, err
	}
	// After partitions were added, newer records of the key may be in another one.
	readers := []*reader{b.reader(m.Topic, m.Partition, m.Offset)}
	if now := partitionOf(m.Key, partitions); now != m.Partition {
		readers = append(readers, b.reader(m.Topic, now, 0))
	}
	for _, r := range readers {
		if replaced, err := r.holds(ctx, m.Key); replaced || err != nil {
			return false, err
		}
	}
	return true, b.Publish(ctx, m)
}

// holds reports whether a record of key follows the reader's position, up to the current end of
// the partition.
func (r *reader) holds(ctx context.Context, key string) (bool, error) {
	ranges, err := r.bus.offsets(ctx, r.at.topic, []int{r.at.partition})
	if err != nil {
		return false, err
	}
	for before := int64(-1); r.next < ranges[0].end && r.next != before; {
		before = r.next
		if err := r.bus.retrier.do(ctx, opFetch, r.at.topic, r.poll); err != nil {
			return false, err
		}
		for _, m := range r.ready {
			if m.Key == key {
				return true, nil
			}
		}
		r.ready = nil
	}
	return false, nil
}
