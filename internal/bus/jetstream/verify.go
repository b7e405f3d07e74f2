package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/bus/stream"
)

// kvStream begins the names of the streams that hold buckets.
const kvStream = "KV_"

// Verify reads every record of the bus, including its buckets, and returns an error with the
// reason stream.ReasonLost if one cannot be read: otherwise a flipped bit goes unnoticed until
// somebody needs the damaged record. It reads the whole store, and the bus keeps working
// meanwhile.
func (s *Server) Verify(ctx context.Context) error { return s.losses.verifyAll(ctx) }

// holds reports whether a stream has a message at an offset, or is unable to answer now.
func holds(ctx context.Context, st jetstream.Stream, offset uint64) bool {
	_, err := st.GetMsg(ctx, offset)
	var refused *jetstream.APIError
	return !errors.Is(err, jetstream.ErrMsgNotFound) && !errors.As(err, &refused)
}

// verifyAll reads every record of the bus, including its buckets, and returns an error with
// the reason stream.ReasonLost if one cannot be read.
func (l *lossCheck) verifyAll(ctx context.Context) error {
	var errs []error
	names := l.js.StreamNames(ctx)
	for name := range names.Name() {
		if err := l.verify(ctx, name); err != nil {
			errs = append(errs, err)
		}
	}
	if err := names.Err(); err != nil {
		errs = append(errs, fmt.Errorf("jetstream: verify: %w", err))
	}
	return errors.Join(errs...)
}

// verifyBuckets verifies the buckets of small values, which every start reads: a damaged value
// would block its watchers forever. If the loss is accepted, the bucket is emptied. Buckets
// with several values for a key are large, and no start reads them: they are left to Verify.
func (l *lossCheck) verifyBuckets(ctx context.Context) error {
	names := l.js.StreamNames(ctx)
	for name := range names.Name() {
		if !strings.HasPrefix(name, kvStream) {
			continue
		}
		if st, err := l.js.Stream(ctx, name); err == nil && st.CachedInfo().Config.MaxMsgsPerSubject > 1 {
			continue
		}
		damage := l.verify(ctx, name)
		if stream.Reason(damage) != stream.ReasonLost || !l.acceptLoss {
			if damage != nil {
				return damage
			}
			continue
		}
		l.log.Error("a bucket of the bus is emptied: it lost values, and the loss was accepted", "error", damage)
		st, err := l.js.Stream(ctx, name)
		if err == nil {
			err = st.Purge(ctx)
		}
		if err != nil {
			return fmt.Errorf("jetstream: empty %s: %w", name, err)
		}
	}
	return names.Err()
}

func (l *lossCheck) verify(ctx context.Context, name string) error {
	st, err := l.js.Stream(ctx, name)
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
		if holes -= min(holes, l.erased.between(name, before.State.FirstSeq, before.State.LastSeq)); holes == 0 {
			return nil
		}
		return l.lossError(fmt.Sprintf("of %s %d records cannot be read", name, holes))
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
	const shown = 5
	return l.lossError(fmt.Sprintf("of %s the records of %d keys cannot be read, such as %s", name, len(missing), strings.Join(missing[:min(len(missing), shown)], ", ")))
}

// readSubjects reads a stream up to an offset. It returns the subjects of its messages, and
// the number of offsets after the first that have no message.
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
		if info.NumPending == 0 || !holds(ctx, st, end) {
			break
		}
	}
	return read, holes + end - min(last, end), nil
}
