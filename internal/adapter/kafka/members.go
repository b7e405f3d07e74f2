package kafka

import (
	"context"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/toolstream/toolstream/pkg/events"
)

// Members counts the processes that share a topic as a group.
func (b *Bus) Members(ctx context.Context, topic events.Topic, group string) (n int, err error) {
	err = b.retry(ctx, opMeta, topic, func(ctx context.Context) error {
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
