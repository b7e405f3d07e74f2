package kafka

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/stream"
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
	if err := b.checkFrom(topic, from, len(partitions)); err != nil {
		return err
	}
	batches := make(chan []stream.Message)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.spread(gctx, g, topic, from, batches) })
	g.Go(func() error { return stream.Deliver(gctx, batches, handle) })
	return stream.OrDone(ctx, g.Wait())
}

// checkFrom refuses positions in partitions that the topic does not have.
func (b *Bus) checkFrom(topic events.Topic, from map[int]uint64, partitions int) error {
	for p, offset := range from {
		if p >= partitions && offset > 0 {
			return stream.Permanent(stream.ReasonLost, fmt.Errorf(
				"kafka: topic %s has %d partitions, and offset %d of partition %d has been read: the topic was made anew",
				b.cfg.topic(topic), partitions, offset, p))
		}
	}
	return nil
}

// spread starts a reader in g for every partition, and later for those that
// are added.
func (b *Bus) spread(ctx context.Context, g *errgroup.Group, topic events.Topic, from map[int]uint64, batches chan<- []stream.Message) error {
	reading := 0
	for {
		partitions, err := b.partitions(ctx, topic)
		for ; err == nil && reading < len(partitions); reading++ {
			r := b.reader(topic, reading, from[reading])
			g.Go(func() error { return stream.Pour(ctx, batches, r.fetch, followBatch) })
		}
		if !pause(ctx, watchPartitions) {
			return ctx.Err()
		}
	}
}
