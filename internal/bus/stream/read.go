package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
)

// readTimeout bounds the search for one message.
const readTimeout = 10 * time.Second

// errDone ends Follow.
var errDone = errors.New("done")

// Behind returns the number of records between positions and ends.
func Behind(at, ends map[int]uint64) (records uint64) {
	for partition, end := range ends {
		if end > at[partition] {
			records += end - at[partition]
		}
	}
	return records
}

// Read calls visit with the messages of a topic above from, in order within a partition,
// until it returns true or an error.
func Read(ctx context.Context, f Follower, topic events.Topic, from map[int]uint64, visit func(Message) (done bool, err error)) error {
	done := false
	err := f.Follow(ctx, topic, from, func(_ context.Context, msgs []Message) (err error) {
		for _, m := range msgs {
			if done, err = visit(m); err != nil {
				return err
			}
			if done {
				return errDone
			}
		}
		return nil
	})
	switch {
	case done:
		return nil
	case err == nil:
		return ctx.Err() // Follow ends by itself only with its context
	}
	return err
}

// ReadAt returns the message at an offset of a partition. found is false if compaction has
// dropped it.
func ReadAt(ctx context.Context, f Follower, topic events.Topic, partition int, offset uint64) (m Message, found bool, err error) {
	ends, err := f.End(ctx, topic)
	if err != nil {
		return m, false, fmt.Errorf("end of %s: %w", topic, err)
	}
	if ends[partition] < offset {
		return m, false, nil
	}
	from := maps.Clone(ends)
	from[partition] = offset - 1
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	err = Read(ctx, f, topic, from, func(got Message) (bool, error) {
		m, found = got, got.Partition == partition && got.Offset == offset
		return got.Partition == partition, nil
	})
	if err != nil {
		return Message{}, false, fmt.Errorf("read %s at %d: %w", topic, offset, err)
	}
	return m, found, nil
}

// ReadAll calls visit with each message that a topic holds now, in order within
// a partition.
func ReadAll(ctx context.Context, f Follower, topic events.Topic, visit func(Message)) error {
	left, err := f.End(ctx, topic)
	if err != nil {
		return fmt.Errorf("end of %s: %w", topic, err)
	}
	maps.DeleteFunc(left, func(_ int, end uint64) bool { return end == 0 })
	if len(left) == 0 {
		return nil
	}
	err = Read(ctx, f, topic, nil, func(m Message) (bool, error) {
		visit(m)
		if end, open := left[m.Partition]; open && m.Offset >= end {
			delete(left, m.Partition)
		}
		return len(left) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", topic, err)
	}
	return nil
}
