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

// errRead ends Follow once the message is there, or can not come any more.
var errRead = errors.New("read")

// ReadAt returns the message that lies at an offset of a partition. found is false
// where it is not there any more, because compaction has dropped it.
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
	err = f.Follow(ctx, topic, from, func(_ context.Context, msgs []Message) error {
		for _, got := range msgs {
			if got.Partition == partition {
				m, found = got, got.Offset == offset
				return errRead
			}
		}
		return nil
	})
	if !errors.Is(err, errRead) {
		return Message{}, false, fmt.Errorf("read %s at %d: %w", topic, offset, errors.Join(err, ctx.Err()))
	}
	return m, found, nil
}
