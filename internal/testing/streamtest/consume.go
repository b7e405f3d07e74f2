package streamtest

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// Consume hands out the partitions; a second member of a group waits for
// partitions that the first member holds.
func (b *Bus) Consume(ctx context.Context, topic events.Topic, group string, handle func(context.Context, stream.Partition) error) error {
	g, gctx := errgroup.WithContext(ctx)
	for p := range b.partitions {
		g.Go(func() error {
			own := claim{group, source{topic, p}}
			lease := b.lease(own)
			select {
			case <-gctx.Done():
				return nil
			case lease <- struct{}{}:
			}
			defer func() { <-lease }()
			return handle(gctx, &partition{bus: b, claim: own, read: b.position(own)})
		})
	}
	return stream.OrDone(ctx, g.Wait())
}

func (b *Bus) lease(c claim) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.leases[c] == nil {
		b.leases[c] = make(chan struct{}, 1)
	}
	return b.leases[c]
}

func (b *Bus) position(c claim) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.committed[c]
}

// Committed returns the offsets that the group has committed, by partition.
func (b *Bus) Committed(topic events.Topic, group string) map[int]uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[int]uint64{}
	for c, offset := range b.committed {
		if c.group == group && c.topic == topic {
			out[c.partition] = offset
		}
	}
	return out
}

// partition is one handler's view; its methods are called one at a time.
type partition struct {
	bus *Bus
	claim
	read uint64 // the last offset fetched
}

func (p *partition) Fetch(ctx context.Context, max int) ([]stream.Message, error) {
	if err := p.bus.fault(Call{Op: OpFetch, Topic: p.topic, Group: p.group, Partition: p.claim.partition}); err != nil {
		return nil, err
	}
	msgs, err := p.bus.next(ctx, p.source, p.read, max)
	if err != nil {
		return nil, err
	}
	p.read = msgs[len(msgs)-1].Offset
	return msgs, nil
}

func (p *partition) Commit(ctx context.Context, through uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	call := Call{Op: OpCommit, Topic: p.topic, Group: p.group, Partition: p.claim.partition, Offset: through}
	if err := p.bus.fault(call); err != nil {
		return err
	}
	p.bus.mu.Lock()
	defer p.bus.mu.Unlock()
	if p.bus.closed {
		return ErrClosed
	}
	p.bus.committed[p.claim] = max(through, p.bus.committed[p.claim])
	p.bus.wake()
	return nil
}

// followBatch is the maximum batch of Follow: small, so that tests see several
// batches.
const followBatch = 64

// Follow reads the topic's partitions one by one, each in order.
func (b *Bus) Follow(ctx context.Context, topic events.Topic, from map[int]uint64, handle func(context.Context, []stream.Message) error) error {
	batches := make(chan []stream.Message)
	g, gctx := errgroup.WithContext(ctx)
	for p := range b.partitions {
		g.Go(func() error { return b.read(gctx, source{topic, p}, from[p], batches) })
	}
	g.Go(func() error { return stream.Deliver(gctx, batches, handle) })
	return stream.OrDone(ctx, g.Wait())
}

func (b *Bus) read(ctx context.Context, src source, after uint64, out chan<- []stream.Message) error {
	return stream.Pour(ctx, out, func(ctx context.Context, max int) ([]stream.Message, error) {
		if err := b.fault(Call{Op: OpFollow, Topic: src.topic, Partition: src.partition}); err != nil {
			return nil, err
		}
		msgs, err := b.next(ctx, src, after, max)
		if err == nil {
			after = msgs[len(msgs)-1].Offset
		}
		return msgs, err
	}, followBatch)
}

// End returns the last offset given out, by partition.
func (b *Bus) End(ctx context.Context, topic events.Topic) (map[int]uint64, error) {
	if err := b.fault(Call{Op: OpEnd, Topic: topic}); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, ErrClosed
	}
	out := make(map[int]uint64, b.partitions)
	for p := range b.partitions {
		out[p] = b.ends[source{topic, p}]
	}
	return out, ctx.Err()
}
