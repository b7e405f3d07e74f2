package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/pkg/events"
)

// positionsBucket holds the committed offsets: after a crash nothing waits for an
// acknowledgement of the server to time out.
const positionsBucket = "positions"

// consumer is a group that reads a topic.
type consumer struct {
	group string
	topic events.Topic
}

func (c consumer) key() string { return strings.TrimPrefix(subjectOf(c.topic, c.group), prefix) }

// parseConsumer is the inverse of key.
func parseConsumer(key string) consumer {
	return consumer{keyOf(key), events.Topic(key[:max(strings.LastIndexByte(key, '.'), 0)])}
}

// positions are the offsets that groups have committed.
type positions struct {
	kv      jetstream.KeyValue
	failure *failure
}

// save makes an offset durable.
func (p positions) save(ctx context.Context, c consumer, offset uint64) error {
	bounded, cancel := ackTimeout(ctx)
	defer cancel()
	err := context.DeadlineExceeded // of the client, which has a deadline of its own
	for errors.Is(err, context.DeadlineExceeded) && bounded.Err() == nil {
		_, err = p.kv.PutString(bounded, c.key(), strconv.FormatUint(offset, 10))
	}
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = p.failure.report(context.Cause(bounded))
	}
	if err != nil {
		return fmt.Errorf("jetstream: commit %s at %d: %w", c.topic, offset, asFull(err))
	}
	return nil
}

// get returns the offset that a group has committed, 0 if it has not yet.
func (p positions) get(ctx context.Context, c consumer) (uint64, error) {
	e, err := p.kv.Get(ctx, c.key())
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, nil
	}
	var offset uint64
	if err == nil {
		offset, err = strconv.ParseUint(string(e.Value()), 10, 64)
	}
	if err != nil {
		return 0, fmt.Errorf("jetstream: position of %s in %s: %w", c.group, c.topic, err)
	}
	return offset, nil
}
