package kafka

import (
	"context"
	"fmt"

	"github.com/toolstream/toolstream/internal/bus/stream"
)

// Erase puts a null with the headers of last in place of each key of last's topic that matches,
// if the topic is compacted. It returns how many records Kafka still has on its disks: it drops
// them when it compacts the topic, or when they are as old as the topic keeps records.
// Partitions hold records of all tenants, which Kafka cannot remove one by one. Repeating it is
// harmless, and completes an erasure that failed.
func (b *Bus) Erase(ctx context.Context, last stream.Message, match func(stream.Message) bool) (left int, err error) {
	there := map[string]bool{} // keys whose newest record is not a null
	err = stream.ReadAll(ctx, b, last.Topic, func(m stream.Message) {
		switch {
		case m.IsNull():
			delete(there, m.Key)
		case match(m):
			there[m.Key] = true
			left++
		}
	})
	if err != nil {
		return 0, fmt.Errorf("kafka: erase from %s: %w", last.Topic, err)
	}
	if !last.Topic.Compacted() {
		return left, nil
	}
	var nulls []stream.Message
	for key := range there {
		nulls = append(nulls, stream.Message{Topic: last.Topic, Key: key, Headers: last.Headers})
	}
	if err := b.Publish(ctx, nulls...); err != nil {
		return 0, fmt.Errorf("kafka: erase from %s: %w", last.Topic, err)
	}
	return left, nil
}
