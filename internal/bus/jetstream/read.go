package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// What a reader asks for ahead.
const (
	prefetch      = 512
	prefetchBytes = 2 * MaxPayload
)

// linger is how long a reader that has a message waits for one more: enough to
// take all that has arrived, too short to be felt.
const linger = 100 * time.Microsecond

// forgetAfter is when the server forgets an unused consumer,
// should its reader not have said so.
const forgetAfter = 24 * time.Hour

// reader reads one partition in order, from a position on, through a consumer
// of its own that acknowledges nothing. Whenever that is in doubt, it makes a
// new one behind what it has read. It is used by one goroutine at a time.
//
// The library's ordered consumer does the same with overlapping requests; its
// buffer has no room for their status messages and drops some under load.
type reader struct {
	server *Server
	topic  events.Topic
	read   uint64 // the last offset returned

	consumer  jetstream.Consumer
	delivered uint64                 // consumer sequence of the last message
	batch     jetstream.MessageBatch // the answer to the request under way
	cancel    context.CancelFunc     // of that request
	got       int                    // messages in that answer
}

// fetch returns the next messages, at least one and at most max.
func (r *reader) fetch(ctx context.Context, max int) ([]stream.Message, error) {
	first, err := r.next(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("jetstream: read %s: %w", r.topic, err)
	}
	msgs := []stream.Message{first}
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for len(msgs) < max {
		m, err := r.next(ctx, timer.C)
		if err != nil {
			break // late, or it comes again with the next fetch
		}
		msgs = append(msgs, m)
		timer.Reset(linger)
	}
	return msgs, nil
}

// errLate is the error of a message that did not come in time.
var errLate = errors.New("nothing came in time")

// next returns one message, unless it is late.
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
				return r.take(raw)
			}
			if err := r.finish(); err != nil {
				return stream.Message{}, err
			}
		}
	}
}

// request asks for messages, unless it has asked already.
func (r *reader) request(ctx context.Context) error {
	if r.batch != nil {
		return nil
	}
	if r.consumer == nil {
		consumer, err := r.server.js.CreateConsumer(ctx, streamName(r.topic), jetstream.ConsumerConfig{
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

// finish ends a request that was answered in full, or to which nothing came
// for long: the consumer is then made anew, so that a loss of its messages on
// the way would not go unnoticed for ever.
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

// take returns what came, if nothing is missing before it.
func (r *reader) take(raw jetstream.Msg) (stream.Message, error) {
	m, sequence, err := decode(r.topic, raw)
	if err == nil && sequence != r.delivered+1 {
		err = fmt.Errorf("message %d of the consumer came after %d", sequence, r.delivered)
	}
	if err != nil {
		r.close()
		return stream.Message{}, err
	}
	r.delivered = sequence
	r.got++
	r.checkGap(m.Offset)
	r.read = m.Offset
	return m, nil
}

// close lets the server forget the consumer.
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
	// If it cannot be told, it forgets by itself.
	_ = r.server.js.DeleteConsumer(ctx, streamName(r.topic), r.consumer.CachedInfo().Name)
	r.consumer = nil
}

// checkGap tells the operator of records that vanished before they were read:
// they aged out, or the files are damaged. Compaction makes gaps, too.
func (r *reader) checkGap(offset uint64) {
	if r.topic.Compacted() || offset == r.read+1 || r.read == 0 || r.server.erasedBetween(streamName(r.topic), r.read, offset) == offset-r.read-1 {
		return
	}
	r.server.log.Error("records are gone that were not read yet: they exceeded the topic's limits, or the files are damaged",
		"topic", string(r.topic), "after", r.read, "before", offset)
}

// decode reads what encode and the server made of a message, and the
// message's number among those of its consumer.
func decode(topic events.Topic, raw jetstream.Msg) (stream.Message, uint64, error) {
	meta, err := raw.Metadata()
	if err != nil {
		return stream.Message{}, 0, err
	}
	return stream.Message{
		Topic: topic, Key: keyOf(raw.Subject()), Value: raw.Data(), Headers: decodeHeaders(raw.Headers()),
		Offset: meta.Sequence.Stream, Time: meta.Timestamp,
	}, meta.Sequence.Consumer, nil
}
