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

// savePosition makes an offset durable.
func (s *Server) savePosition(ctx context.Context, of consumer, offset uint64) error {
	bounded, cancel := ackTimeout(ctx)
	defer cancel()
	err := context.DeadlineExceeded // of the client, which has one of its own
	for errors.Is(err, context.DeadlineExceeded) && bounded.Err() == nil {
		_, err = s.positions.PutString(bounded, of.key(), strconv.FormatUint(offset, 10))
	}
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = s.breakDown(context.Cause(bounded))
	}
	if err != nil {
		return fmt.Errorf("jetstream: commit %s at %d: %w", of.topic, offset, full(err))
	}
	return nil
}

// position returns the offset that a group has committed, 0 if none.
func (s *Server) position(ctx context.Context, of consumer) (uint64, error) {
	e, err := s.positions.Get(ctx, of.key())
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, nil
	}
	var offset uint64
	if err == nil {
		offset, err = strconv.ParseUint(string(e.Value()), 10, 64)
	}
	if err != nil {
		return 0, fmt.Errorf("jetstream: position of %s in %s: %w", of.group, of.topic, err)
	}
	return offset, nil
}

// Committed returns the offset that a group has committed of each partition of
// a topic, 0 where it has not yet.
func (s *Server) Committed(ctx context.Context, topic events.Topic, group string) (map[int]uint64, error) {
	offset, err := s.position(ctx, consumer{group, topic})
	return map[int]uint64{0: offset}, err
}

// checkPositions looks for groups that had read further than their topic goes.
// If that loss is accepted, they go on with what comes next.
func (s *Server) checkPositions(ctx context.Context) error {
	keys, err := s.positions.Keys(ctx)
	if errors.Is(err, jetstream.ErrNoKeysFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("jetstream: positions: %w", err)
	}
	for _, key := range keys {
		of := parseConsumer(key)
		at, err := s.position(ctx, of)
		if err != nil {
			return err
		}
		end := s.opened[of.topic]
		if at <= end {
			continue
		}
		if err := s.lost(behind(of.topic, end, "group "+of.group, at)); err != nil {
			return err
		}
		if err := s.savePosition(ctx, of, end); err != nil {
			return err
		}
	}
	return nil
}
