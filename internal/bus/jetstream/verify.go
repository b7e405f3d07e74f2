package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// readable reports whether the server can read the message at an offset, or can
// not be asked for it now.
func (s *Server) readable(ctx context.Context, topic events.Topic, offset uint64) bool {
	st, err := s.js.Stream(ctx, streamName(topic))
	if err != nil {
		return true
	}
	return held(ctx, st, offset)
}

func held(ctx context.Context, st jetstream.Stream, offset uint64) bool {
	_, err := st.GetMsg(ctx, offset)
	var refused *jetstream.APIError
	return !errors.Is(err, jetstream.ErrMsgNotFound) && !errors.As(err, &refused)
}

// tornEnd is a last record that cannot be read, and the last record that can.
type tornEnd struct{ last, readable uint64 }

// checkLast looks at the last record of a compacted topic: a reader that waits
// until it has read everything would wait for ever for one that cannot be read.
// If that loss is accepted, the topic ends before it.
func (s *Server) checkLast(ctx context.Context, topic events.Topic, last uint64) error {
	if !topic.Compacted() || last == 0 || s.readable(ctx, topic, last) {
		return nil
	}
	if err := s.lost(fmt.Sprintf("of topic %s the last record, %d, cannot be read", topic, last)); err != nil {
		return err
	}
	at := last
	for at > 0 && ctx.Err() == nil && !s.readable(ctx, topic, at) {
		at--
	}
	s.torn[topic] = tornEnd{last, at}
	return nil
}

// Verify reads every record of the bus, those of its buckets included, and returns
// an error with the reason stream.ReasonLost if one cannot be read: a flipped bit
// is else found only when the damaged record is read. It takes as long as reading
// the whole store does, beside everything else.
func (s *Server) Verify(ctx context.Context) error {
	var errs []error
	names := s.js.StreamNames(ctx)
	for name := range names.Name() {
		if err := s.verify(ctx, name); err != nil {
			errs = append(errs, err)
		}
	}
	if err := names.Err(); err != nil {
		errs = append(errs, fmt.Errorf("jetstream: verify: %w", err))
	}
	return errors.Join(errs...)
}

// verifyBuckets verifies the buckets of small values, which everything that starts
// reads: a damaged value would hold up its watchers for ever. If the loss is accepted,
// the bucket begins anew. Those that keep several values of a key are large, and nobody
// reads them at the start: they are left to Verify.
func (s *Server) verifyBuckets(ctx context.Context) error {
	names := s.js.StreamNames(ctx)
	for name := range names.Name() {
		if !strings.HasPrefix(name, kvStream) {
			continue
		}
		if st, err := s.js.Stream(ctx, name); err == nil && st.CachedInfo().Config.MaxMsgsPerSubject > 1 {
			continue
		}
		damage := s.verify(ctx, name)
		if stream.Reason(damage) != stream.ReasonLost || !s.cfg.AcceptLoss {
			if damage != nil {
				return damage
			}
			continue
		}
		s.log.Error("a bucket of the bus is emptied: it lost values, and the loss was accepted", "error", damage)
		st, err := s.js.Stream(ctx, name)
		if err == nil {
			err = st.Purge(ctx)
		}
		if err != nil {
			return fmt.Errorf("jetstream: empty %s: %w", name, err)
		}
	}
	return names.Err()
}

func (s *Server) verify(ctx context.Context, name string) error {
	st, err := s.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil // it was removed meanwhile
	}
	if err != nil {
		return fmt.Errorf("jetstream: verify %s: %w", name, err)
	}
	before := st.CachedInfo()
	read, holes, err := readSubjects(ctx, st, before.State.LastSeq)
	if err != nil {
		return fmt.Errorf("jetstream: verify %s: %w", name, err)
	}
	if before.Config.MaxMsgsPerSubject <= 0 {
		if holes -= min(holes, s.erasedBetween(name, before.State.FirstSeq, before.State.LastSeq)); holes == 0 {
			return nil
		}
		return s.lossError(fmt.Sprintf("of %s %d records cannot be read", name, holes))
	}
	if uint64(len(read)) >= before.State.NumSubjects {
		return nil
	}
	all, err := st.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return fmt.Errorf("jetstream: verify %s: %w", name, err)
	}
	var missing []string
	for subject := range all.State.Subjects {
		if !read[subject] {
			missing = append(missing, fmt.Sprintf("%q", keyOf(subject)))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	const named = 5
	return s.lossError(fmt.Sprintf("of %s the records of %d keys cannot be read, such as %s", name, len(missing), strings.Join(missing[:min(len(missing), named)], ", ")))
}

// readSubjects reads a stream up to an offset and returns the subjects that it met,
// and how many offsets it did not meet behind the first.
func readSubjects(ctx context.Context, st jetstream.Stream, end uint64) (read map[string]bool, holes uint64, err error) {
	read = map[string]bool{}
	if end == 0 {
		return read, 0, nil
	}
	c, err := st.CreateConsumer(ctx, jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckNonePolicy, HeadersOnly: true, MemoryStorage: true, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return nil, 0, err
	}
	last, pending := uint64(0), c.CachedInfo().NumPending
	for pending > 0 && last < end {
		batch, err := c.Fetch(int(min(pending, prefetch)), jetstream.FetchMaxWait(time.Second))
		if err != nil {
			return nil, 0, err
		}
		got := 0
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				return nil, 0, err
			}
			got++
			read[m.Subject()] = true
			if last > 0 {
				holes += meta.Sequence.Stream - last - 1
			}
			last, pending = meta.Sequence.Stream, meta.NumPending
		}
		if err := batch.Error(); err != nil {
			return nil, 0, err
		}
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		if got > 0 {
			continue
		}
		info, err := c.Info(ctx)
		if err != nil {
			return nil, 0, err
		}
		// A last message that cannot be read is pending for ever.
		if info.NumPending == 0 || !held(ctx, st, end) {
			break
		}
	}
	return read, holes + end - min(last, end), nil
}
