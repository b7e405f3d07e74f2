package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// A reader requests this much ahead.
const (
	prefetch      = 512
	prefetchBytes = 2 * MaxPayload
)

// linger is how long a reader that has a message waits for another: long enough to get all
// that have arrived, too short to notice.
const linger = 100 * time.Microsecond

// forgetAfter is when the server forgets an unused consumer that its reader has not deleted.
const forgetAfter = 24 * time.Hour

// reader reads one partition in order, from a position on, through its own consumer that
// acknowledges nothing. Whenever messages may be missing, it creates a new consumer after the
// last message that it has read. One goroutine uses it at a time.
//
// The library's ordered consumer does the same with overlapping requests; its
// buffer has no room for their status messages and drops some under load.
type reader struct {
	js     jetstream.JetStream
	erased *erasures
	log    *slog.Logger
	topic  events.Topic
	read   uint64 // the last offset returned

	consumer  jetstream.Consumer
	delivered uint64                 // consumer sequence of the last message
	batch     jetstream.MessageBatch // the answer to the request under way
	cancel    context.CancelFunc     // of that request
	got       int                    // messages in that answer
}

// Fetch returns the next messages, at least one and at most max.
func (r *reader) Fetch(ctx context.Context, max int) ([]stream.Message, error) {
	first, err := r.next(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("jetstream: read %s: %w", r.topic, err)
	}
	msgs, size := []stream.Message{first}, len(first.Value)
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for len(msgs) < max && size < prefetchBytes {
		m, err := r.next(ctx, timer.C)
		if err != nil {
			break // late, or delivered again by the next fetch
		}
		msgs, size = append(msgs, m), size+len(m.Value)
		timer.Reset(linger)
	}
	return msgs, nil
}

// errLate means that no message came in time.
var errLate = errors.New("nothing came in time")

// next returns one message, or errLate.
func (r *reader) next(ctx context.Context, late <-chan time.Time) (stream.Message, error) {
	for {
		if err := r.request(ctx); err != nil {
			return stream.Message{}, err
		}
		select {
		case <-ctx.Done():
			return stream.Message{}, ctx.Err()
		case <-late:
			return stream.Message{}, errLate
		case raw, ok := <-r.batch.Messages():
			if ok {
				return r.receive(raw)
			}
			if err := r.finish(); err != nil {
				return stream.Message{}, err
			}
		}
	}
}

// request requests messages, unless a request is pending.
func (r *reader) request(ctx context.Context) error {
	if r.batch != nil {
		return nil
	}
	if r.consumer == nil {
		consumer, err := r.js.CreateConsumer(ctx, streamName(r.topic), jetstream.ConsumerConfig{
			DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
			OptStartSeq:       r.read + 1,
			AckPolicy:         jetstream.AckNonePolicy,
			InactiveThreshold: forgetAfter,
			MemoryStorage:     true,
		})
		if err != nil {
			return err
		}
		r.consumer, r.delivered = consumer, 0
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	batch, err := r.consumer.Fetch(prefetch, jetstream.FetchMaxBytes(prefetchBytes), jetstream.FetchContext(own))
	if err != nil {
		cancel()
		r.close()
		return err
	}
	r.batch, r.cancel, r.got = batch, cancel, 0
	return nil
}

// finish ends a request that was answered in full or got no message for a long time. In the
// second case the consumer is created again: its messages may have been lost on the way.
func (r *reader) finish() error {
	err := r.batch.Error()
	idle := r.got == 0
	r.cancel()
	r.batch = nil
	if err != nil || idle {
		r.close()
	}
	return err
}

// receive decodes a message, if none is missing before it.
func (r *reader) receive(raw jetstream.Msg) (stream.Message, error) {
	meta, err := raw.Metadata()
	if err == nil && meta.Sequence.Consumer != r.delivered+1 {
		err = fmt.Errorf("message %d of the consumer came after %d", meta.Sequence.Consumer, r.delivered)
	}
	if err != nil {
		r.close()
		return stream.Message{}, err
	}
	r.delivered = meta.Sequence.Consumer
	r.got++
	m := stream.Message{
		Topic: r.topic, Key: keyOf(raw.Subject()), Value: raw.Data(), Headers: decodeHeaders(raw.Headers()),
		Offset: meta.Sequence.Stream, Time: meta.Timestamp,
	}
	if gap := m.Offset - r.read - 1; r.read > 0 && gap > 0 && !r.topic.Compacted() && r.erased.between(streamName(r.topic), r.read, m.Offset) != gap {
		r.log.Error("records are gone that were not read yet: they exceeded the topic's limits, or the files are damaged",
			"topic", string(r.topic), "after", r.read, "before", m.Offset)
	}
	r.read = m.Offset
	return m, nil
}

// close deletes the consumer.
func (r *reader) close() {
	if r.batch != nil {
		r.cancel()
		r.batch = nil
	}
	if r.consumer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// If this fails, the server forgets the consumer after forgetAfter.
	_ = r.js.DeleteConsumer(ctx, streamName(r.topic), r.consumer.CachedInfo().Name)
	r.consumer = nil
}
