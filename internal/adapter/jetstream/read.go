package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// What a reader asks for ahead.
const (
	prefetch      = 512
	prefetchBytes = 16 << 20
)

// linger is how long a reader that has a message waits for one more: enough to
// take all that has arrived, too short to be felt.
const linger = 100 * time.Microsecond

// reader reads one partition in order, from a position on. It survives the
// loss of the server's side. It is used by one goroutine at a time.
type reader struct {
	server    *Server
	topic     events.Topic
	partition int
	read      uint64 // the last offset returned
	messages  jetstream.MessagesContext
}

// open starts reading above r.read.
func (r *reader) open(ctx context.Context) error {
	c := r.server.cfg
	consumer, err := r.server.js.OrderedConsumer(ctx, c.streamName(r.topic), jetstream.OrderedConsumerConfig{
		FilterSubjects:    []string{c.partitionSubject(r.topic, r.partition) + ".>"},
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       r.read + 1,
		InactiveThreshold: time.Minute,
	})
	if err != nil {
		return err
	}
	r.messages, err = consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(prefetch, prefetchBytes))
	return err
}

// fetch returns the next messages, at least one and at most max.
func (r *reader) fetch(ctx context.Context, max int) ([]stream.Message, error) {
	first, err := r.next(ctx, jetstream.NextContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("jetstream: read %s: %w", r.topic, err)
	}
	msgs := []stream.Message{first}
	for len(msgs) < max {
		m, err := r.next(ctx, jetstream.NextMaxWait(linger))
		if errors.Is(err, nats.ErrTimeout) {
			break
		}
		if err != nil {
			return msgs, nil // it comes again with the next fetch
		}
		msgs = append(msgs, m)
	}
	return msgs, nil
}

// next returns one message. After an error, reading starts anew behind what
// was returned.
func (r *reader) next(ctx context.Context, wait jetstream.NextOpt) (stream.Message, error) {
	if r.messages == nil {
		if err := r.open(ctx); err != nil {
			return stream.Message{}, err
		}
	}
	raw, err := r.messages.Next(wait)
	if err != nil {
		if !errors.Is(err, nats.ErrTimeout) {
			r.close()
		}
		return stream.Message{}, err
	}
	m, err := r.server.decode(r.topic, raw)
	if err != nil {
		return stream.Message{}, err
	}
	r.checkGap(m.Offset)
	r.read = m.Offset
	return m, nil
}

// checkGap tells the operator of records that vanished before they were read:
// they aged out, or the files are damaged. Compaction makes gaps too, and with
// several partitions the offsets between belong to the others.
func (r *reader) checkGap(offset uint64) {
	if r.topic.Compacted() || r.server.cfg.Partitions > 1 || offset == r.read+1 || r.read == 0 {
		return
	}
	r.server.log.Error("records are gone that nobody has read: they exceeded the topic's limits, or the files are damaged",
		"topic", string(r.topic), "after", r.read, "before", offset)
}

func (r *reader) close() {
	if r.messages != nil {
		r.messages.Stop()
		r.messages = nil
	}
}

// decode reads what encode and the server made of a message.
func (s *Server) decode(topic events.Topic, raw jetstream.Msg) (stream.Message, error) {
	meta, err := raw.Metadata()
	if err != nil {
		return stream.Message{}, err
	}
	partition, key, err := s.cfg.place(topic, raw.Subject())
	if err != nil {
		return stream.Message{}, err
	}
	headers, err := decodeHeaders(raw.Headers())
	if err != nil {
		return stream.Message{}, err
	}
	return stream.Message{
		Topic: topic, Key: key, Value: raw.Data(), Headers: headers,
		Partition: partition, Offset: meta.Sequence.Stream, Time: meta.Timestamp,
	}, nil
}
