package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

const (
	// fetchWait is how long the broker waits for a record before it returns an empty answer.
	fetchWait = 500 * time.Millisecond
	// fetchBytes bounds an answer, which holds one batch at least. It is
	// compressed: in memory it becomes several times as large.
	fetchBytes = 512 << 10
)

// reader reads one partition in order, from an offset on. It is used by one
// goroutine at a time.
type reader struct {
	bus   *Bus
	at    topicPartition
	next  int64            // Kafka's offset to ask for
	ready []stream.Message // read and not handed out yet
}

// Fetch returns the next messages, at least one and at most max.
func (r *reader) Fetch(ctx context.Context, max int) ([]stream.Message, error) {
	for len(r.ready) == 0 {
		if err := r.bus.retrier.do(ctx, opFetch, r.at.topic, r.poll); err != nil {
			return nil, err
		}
	}
	n := min(max, len(r.ready))
	msgs := r.ready[:n:n]
	r.ready = r.ready[n:]
	return msgs, nil
}

// poll fetches the next records once. The answer may be empty.
func (r *reader) poll(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, fetchWait+requestTimeout)
	defer cancel()
	res, err := r.bus.client.Fetch(bounded, &kafkago.FetchRequest{
		Topic: r.bus.cfg.topic(r.at.topic), Partition: r.at.partition, Offset: r.next,
		MinBytes: 1, MaxBytes: fetchBytes, MaxWait: fetchWait,
	})
	if err == nil {
		err = res.Error
	}
	if errors.Is(err, kafkago.OffsetOutOfRange) {
		return r.relocate(ctx)
	}
	before := r.next
	if err == nil {
		err = r.take(res.Records)
	}
	if err == nil && r.next == before && res.Throttle > 0 {
		err = fmt.Errorf("the broker's quota is used up for %s", res.Throttle) // and records may be there
	}
	if err != nil {
		return r.bus.describe(r.at.topic, fmt.Errorf("partition %d above offset %d: %w", r.at.partition, r.next, err))
	}
	return nil
}

// take reads the answer to a fetch.
func (r *reader) take(records kafkago.RecordReader) error {
	asked := r.next
	for {
		record, err := records.ReadRecord()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		m, err := decode(r.at.topic, r.at.partition, record)
		if err != nil {
			return err
		}
		if record.Offset < r.next {
			continue // a batch is delivered whole, whatever its first record
		}
		r.ready = append(r.ready, m)
		r.next = record.Offset + 1
	}
	if r.next == asked {
		r.skip(records)
	}
	return nil
}

// skip moves on if the answer has only batches without a record to deliver: compaction has emptied
// them, or they only mark a transaction. The library does not give the end of the last batch, but
// it covers the requested offset or, if it begins after that, its first offset.
func (r *reader) skip(records kafkago.RecordReader) {
	s, ok := records.(*protocol.RecordStream)
	if !ok || len(s.Records) == 0 {
		return
	}
	// The offset of a batch is the first that it covers; the records in it may begin later.
	if last, ok := s.Records[len(s.Records)-1].(interface{ Offset() int64 }); ok {
		r.next = max(r.next, last.Offset()) + 1
	}
}

// relocate goes on after the broker has said that it does not have the offset.
func (r *reader) relocate(ctx context.Context) error {
	ranges, err := r.bus.offsets(ctx, r.at.topic, []int{r.at.partition})
	if err != nil {
		return err
	}
	left := ranges[0]
	switch {
	case r.next > left.end:
		return stream.Permanent(stream.ReasonLost, fmt.Errorf(
			"kafka: topic %s, partition %d ends at offset %d, but offset %d was read before: the cluster has lost records or the topic was created again",
			r.bus.cfg.topic(r.at.topic), r.at.partition, left.end, r.next))
	case r.next < left.first:
		if r.next > 0 { // a new reader has lost nothing
			r.bus.log.Error("records are gone that were not read yet: they exceeded the topic's limits, or were deleted",
				"topic", string(r.at.topic), "partition", r.at.partition, "after", r.next, "before", left.first+1)
		}
		r.next = left.first
	}
	return nil // otherwise records came meanwhile
}

func (b *Bus) reader(topic events.Topic, partition int, above uint64) *reader {
	return &reader{bus: b, at: topicPartition{topic, partition}, next: nextAfter(above)}
}
