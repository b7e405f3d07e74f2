package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

var _ stream.Topics = (*Bus)(nil)

// Create implements stream.Topics. If an operator manages the topics, it only checks that the
// topic exists.
func (b *Bus) Create(ctx context.Context, topic events.Topic) error {
	if b.cfg.Managed {
		_, err := b.partitions(ctx, topic)
		return err
	}
	err := withAdmin(b.cfg, func(a admin) error {
		_, err := a.create(ctx, []TopicSpec{b.cfg.spec(topic)})
		return err
	})
	if err != nil {
		return err
	}
	return b.awaitMade(ctx, topic)
}

// awaitMade waits until a new topic can be read: this process's and the brokers' metadata may be
// some seconds old.
func (b *Bus) awaitMade(ctx context.Context, topic events.Topic) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for {
		if _, err := b.End(ctx, topic); !errors.Is(err, kafkago.UnknownTopicOrPartition) || !pause(ctx, retryFirst) {
			return err
		}
	}
}

// Remove implements stream.Topics. Topics that an operator makes are the
// operator's to remove.
func (b *Bus) Remove(ctx context.Context, topic events.Topic) error {
	if b.cfg.Managed {
		return nil
	}
	name, again := b.cfg.topic(topic), slices.Contains(events.Topics(), topic)
	before, err := b.partitions(ctx, topic)
	if err != nil && !errors.Is(err, kafkago.UnknownTopicOrPartition) {
		return err
	}
	err = withAdmin(b.cfg, func(a admin) error {
		res, err := a.client.DeleteTopics(ctx, &kafkago.DeleteTopicsRequest{Topics: []string{name}})
		if err == nil {
			err = res.Errors[name]
		}
		if err != nil && !errors.Is(err, kafkago.UnknownTopicOrPartition) {
			return fmt.Errorf("kafka: remove topic %s: %w", name, err)
		}
		if !again {
			return nil
		}
		if err := b.awaitRemoved(ctx, topic, before); err != nil {
			return err
		}
		return a.recreate(ctx, b.cfg.spec(topic))
	})
	if err != nil || !again {
		return err
	}
	return b.awaitMade(ctx, topic)
}

// awaitRemoved waits until no leader of the partitions has them: a broker that is behind the
// cluster's metadata answers from the old log, also once the topic was made again.
func (b *Bus) awaitRemoved(ctx context.Context, topic events.Topic, partitions []int) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for _, p := range partitions {
		for {
			if _, err := b.offsets(ctx, topic, []int{p}); errors.Is(err, kafkago.UnknownTopicOrPartition) {
				break
			}
			if !pause(ctx, retryFirst) {
				return fmt.Errorf("kafka: topic %s is still there: %w", b.cfg.topic(topic), ctx.Err())
			}
		}
	}
	return nil
}

// recreate makes a topic that was just removed: the cluster takes its time.
func (a admin) recreate(ctx context.Context, spec TopicSpec) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for {
		created, err := a.create(ctx, []TopicSpec{spec})
		if err != nil || len(created) > 0 {
			return err
		}
		if !pause(ctx, retryFirst) {
			return ctx.Err()
		}
	}
}

// Versions implements stream.Topics.
func (b *Bus) Versions(ctx context.Context) (found []int, err error) {
	err = withAdmin(b.cfg, func(a admin) error {
		res, err := a.client.Metadata(ctx, &kafkago.MetadataRequest{})
		if err != nil {
			return fmt.Errorf("kafka: list topics: %w", err)
		}
		for _, t := range res.Topics {
			name, ours := strings.CutPrefix(t.Name, b.cfg.Prefix)
			if n := events.Topic(name).IndexVersion(); ours && n > 1 {
				found = append(found, n)
			}
		}
		slices.Sort(found)
		return nil
	})
	return found, err
}

// Forget implements stream.Topics.
func (b *Bus) Forget(ctx context.Context, topic events.Topic, group string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	id := b.cfg.group(topic, group)
	res, err := b.client.DeleteGroups(ctx, &kafkago.DeleteGroupsRequest{GroupIDs: []string{id}})
	if err == nil {
		err = res.Errors[id]
	}
	if err != nil && !errors.Is(err, kafkago.GroupIdNotFound) {
		return fmt.Errorf("kafka: forget group %s: %w", id, err)
	}
	return nil
}
