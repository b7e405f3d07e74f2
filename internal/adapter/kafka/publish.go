package kafka

import (
	"context"
	"errors"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

var errClosed = errors.New("kafka: bus is closed")

// Publish returns nil once every message is on all replicas in sync. A message
// that is over the size limit fails the call before anything is sent.
func (b *Bus) Publish(ctx context.Context, msgs ...stream.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	writes, err := b.writes(ctx, msgs)
	if err != nil && ctx.Err() == nil && b.life.Err() != nil {
		return errClosed
	}
	if err != nil {
		return err
	}
	lanes := make(map[place]*lane, len(writes))
	for at, w := range writes {
		l, err := b.lane(at)
		if err != nil {
			return err
		}
		if err := l.put(ctx, w); err != nil {
			return err
		}
		lanes[at] = l
	}
	var errs []error
	for at, w := range writes {
		errs = append(errs, lanes[at].await(ctx, w))
	}
	return errors.Join(errs...)
}

// writes sorts the messages of a call by where they go.
func (b *Bus) writes(ctx context.Context, msgs []stream.Message) (map[place]*write, error) {
	out := map[place]*write{}
	known := map[events.Topic]homes{}
	for _, m := range msgs {
		if err := b.cfg.checkSize(m); err != nil {
			return nil, err
		}
		if known[m.Topic] == nil {
			n, err := b.count(ctx, opPublish, m.Topic)
			if err != nil {
				return nil, err
			}
			known[m.Topic] = homesOf(n)
		}
		at := place{m.Topic, known[m.Topic].of(m.Key)}
		if out[at] == nil {
			out[at] = &write{ctx: ctx, done: make(chan struct{})}
		}
		out[at].msgs = append(out[at].msgs, m)
	}
	for _, w := range out {
		w.left = len(w.msgs)
	}
	return out, nil
}

// count is partitions, asked again while the cluster does not answer. A topic
// that is not there is not waited for: somebody has to make it.
func (b *Bus) count(ctx context.Context, op string, topic events.Topic) (n int, err error) {
	var missing error
	err = b.retry(ctx, op, topic, func(ctx context.Context) (err error) {
		n, err = b.partitions(ctx, topic)
		if errors.Is(err, kafkago.UnknownTopicOrPartition) || errors.Is(err, errUnknownTopic) {
			missing = err
			return nil
		}
		return err
	})
	return n, errors.Join(missing, err)
}

// homes are a topic's partitions.
type homes []int

func homesOf(partitions int) homes {
	all := make(homes, partitions)
	for i := range all {
		all[i] = i
	}
	return all
}

// of is the partition of a key, which is where the Java clients put it too.
func (h homes) of(key string) int {
	return kafkago.Murmur2Balancer{Consistent: true}.Balance(kafkago.Message{Key: notNil([]byte(key))}, h...)
}

// lane returns the lane of a partition and starts it if it is new.
func (b *Bus) lane(at place) (*lane, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed
	}
	l := b.lanes[at]
	if l == nil {
		l = newLane(b, at)
		b.lanes[at] = l
		b.work.Go(l.run)
	}
	return l, nil
}
