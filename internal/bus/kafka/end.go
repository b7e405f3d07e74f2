package kafka

import (
	"context"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/toolstream/toolstream/pkg/events"
)

// End implements stream.Follower. A partition whose records have all aged out
// counts as empty: there is nothing left to catch up with. In any other the
// last record is there, compacted or not: Kafka never cleans the segment that
// it writes to.
func (b *Bus) End(ctx context.Context, topic events.Topic) (map[int]uint64, error) {
	partitions, err := b.awaitPartitions(ctx, opMeta, topic)
	if err != nil {
		return nil, err
	}
	var ranges []offsetRange
	err = b.retrier.do(ctx, opMeta, topic, func(ctx context.Context) (err error) {
		ranges, err = b.offsets(ctx, topic, partitions)
		return err
	})
	if err != nil {
		return nil, err
	}
	ends := make(map[int]uint64, len(partitions))
	for p, s := range ranges {
		ends[p] = 0
		if s.end > s.first {
			ends[p] = portOffset(s.end - 1)
		}
	}
	return ends, nil
}

// Committed returns the offset that a group has committed of each partition of a topic, 0 if it
// has not yet.
func (b *Bus) Committed(ctx context.Context, topic events.Topic, group string) (map[int]uint64, error) {
	partitions, err := b.awaitPartitions(ctx, opMeta, topic)
	if err != nil {
		return nil, err
	}
	out := make(map[int]uint64, len(partitions))
	for p := range partitions {
		out[p] = 0
	}
	name := b.cfg.topic(topic)
	err = b.retrier.do(ctx, opMeta, topic, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		res, err := b.client.OffsetFetch(ctx, &kafkago.OffsetFetchRequest{
			GroupID: b.cfg.group(topic, group), Topics: map[string][]int{name: partitions},
		})
		if err == nil {
			err = res.Error
		}
		if err != nil {
			return fmt.Errorf("kafka: committed offsets of %s: %w", group, err)
		}
		for _, p := range res.Topics[name] {
			if p.Error != nil {
				return fmt.Errorf("kafka: committed offsets of %s: %w", group, p.Error)
			}
			out[p.Partition] = uint64(max(p.CommittedOffset, 0))
		}
		return nil
	})
	return out, err
}

// Members counts the processes that share a topic as a group.
func (b *Bus) Members(ctx context.Context, topic events.Topic, group string) (n int, err error) {
	err = b.retrier.do(ctx, opMeta, topic, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		res, err := b.client.DescribeGroups(ctx, &kafkago.DescribeGroupsRequest{GroupIDs: []string{b.cfg.group(topic, group)}})
		if err != nil {
			return fmt.Errorf("kafka: members of %s: %w", group, err)
		}
		n = 0
		for _, g := range res.Groups {
			if g.Error != nil {
				return fmt.Errorf("kafka: members of %s: %w", group, g.Error)
			}
			n += len(g.Members)
		}
		return nil
	})
	return n, err
}
