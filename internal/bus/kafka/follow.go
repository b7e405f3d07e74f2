package kafka

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// followBatch is how many messages Follow hands over at most.
const followBatch = 512

// Follow implements stream.Follower. Partitions that are added to the topic are
// read from their beginning.
func (b *Bus) Follow(ctx context.Context, topic events.Topic, from map[int]uint64, handle func(context.Context, []stream.Message) error) error {
	partitions, err := b.awaitPartitions(ctx, opMeta, topic)
	if err != nil {
		return stream.OrDone(ctx, err)
	}
	for p, offset := range from {
		if p >= len(partitions) && offset > 0 {
			return stream.Permanent(stream.ReasonLost, fmt.Errorf(
				"kafka: topic %s has %d partitions, but offset %d of partition %d was read before: the topic was created again",
				b.cfg.topic(topic), len(partitions), offset, p))
		}
	}
	batches := make(chan []stream.Message)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		for reading := 0; ; {
			partitions, err := b.partitions(gctx, topic)
			for ; err == nil && reading < len(partitions); reading++ {
				r := b.reader(topic, reading, from[reading])
				g.Go(func() error { return stream.Pour(gctx, batches, r.Fetch, followBatch) })
			}
			if !pause(gctx, watchPartitions) {
				return gctx.Err()
			}
		}
	})
	g.Go(func() error { return stream.Deliver(gctx, batches, handle) })
	return stream.OrDone(ctx, g.Wait())
}
