package kafka

import (
	"context"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// Publish returns nil once every message is on all replicas in sync. A message
// that is over the size limit fails the call before anything is sent.
func (b *Bus) Publish(ctx context.Context, msgs ...stream.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	writes, err := b.writes(ctx, msgs)
	if err != nil && ctx.Err() == nil && b.life.Err() != nil {
		return stream.ErrClosed
	}
	if err != nil {
		return err
	}
	return stream.WriteAll(ctx, writes, b.writer)
}

// writes groups the messages of a call by partition.
func (b *Bus) writes(ctx context.Context, msgs []stream.Message) (map[topicPartition]*write, error) {
	out := map[topicPartition]*write{}
	known := map[events.Topic][]int{}
	for _, m := range msgs {
		if err := b.cfg.checkSize(m); err != nil {
			return nil, err
		}
		if known[m.Topic] == nil {
			partitions, err := b.awaitPartitions(ctx, opPublish, m.Topic)
			if err != nil {
				return nil, err
			}
			known[m.Topic] = partitions
		}
		at := topicPartition{m.Topic, partitionOf(m.Key, known[m.Topic])}
		if out[at] == nil {
			out[at] = &write{}
		}
		out[at].Add(m, size(m))
	}
	return out, nil
}

// partitionOf returns the partition of a key, the same as the Java clients.
func partitionOf(key string, partitions []int) int {
	return kafkago.Murmur2Balancer{Consistent: true}.Balance(kafkago.Message{Key: notNil([]byte(key))}, partitions...)
}

// writer returns the writer of a partition and starts it if it is new.
func (b *Bus) writer(at topicPartition) (*stream.Batcher[stream.Message], error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, stream.ErrClosed
	}
	if b.writers[at] == nil {
		w := stream.NewBatcher(maxBatch, maxBatchBytes, b.quit, func(group []*write) { b.send(at, group) })
		b.writers[at] = w
		b.work.Go(w.Run)
	}
	return b.writers[at], nil
}
