package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/toolstream/toolstream/internal/bus/stream"
)

// A request holds at most this much, unless a single message is larger.
const (
	maxBatch      = 5000
	maxBatchBytes = 1 << 20 // before compression
)

// reasonInvalid is the reason for a permanently refused message, as is stream.ReasonTooLarge.
const reasonInvalid = "invalid_record"

// invalidRecord is Kafka's error for a request with a record that breaks a rule of
// the topic.
const invalidRecord kafkago.Error = 87

// write is one call's messages for one partition.
type write = stream.Write[stream.Message]

// item is one message of a write.
type item struct {
	write int // in its group
	msg   stream.Message
}

// send stores the messages of a group of calls, one request at a time, so that their order is
// the order of the calls whatever has to be sent again. The library's writer would go on after
// a failed batch, and later messages would overtake the messages that the caller publishes
// again. Calls that were given up are skipped: by then another process may have stored newer
// records.
func (b *Bus) send(at topicPartition, group []*write) {
	errs := make([]error, len(group))
	var items []item
	for n, w := range group {
		if errs[n] = w.GivenUp(); errs[n] != nil {
			continue
		}
		for _, m := range w.Items {
			items = append(items, item{n, m})
		}
	}
	for len(items) > 0 {
		n := prefix(items)
		err := stream.Bisect(items[:n],
			func(some []item) error { return b.produce(at, some) },
			func(i item, p *stream.PermanentError) { errs[i.write] = p })
		for _, i := range items {
			if err != nil && errs[i.write] == nil {
				errs[i.write] = err
			}
		}
		items = items[n:]
		if err != nil {
			break
		}
	}
	for n, w := range group {
		w.Settle(errs[n])
	}
}

// prefix is how many items the next request takes.
func prefix(items []item) int {
	bytes := 0
	for n, i := range items {
		bytes += size(i.msg)
		if n > 0 && bytes > maxBatchBytes || n == maxBatch {
			return n
		}
	}
	return len(items)
}

// produce sends one request until it is stored, refused for good or tried for too
// long. A message that is too large, or breaks a rule of the topic, is a permanent
// error; nothing of the request is stored then.
func (b *Bus) produce(at topicPartition, items []item) error {
	now := time.Now()
	err := b.retrier.do(b.life, opPublish, at.topic, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		records := make([]kafkago.Record, len(items))
		for n, i := range items {
			records[n] = encode(i.msg, now)
		}
		res, err := b.client.Produce(ctx, &kafkago.ProduceRequest{
			Topic: b.cfg.topic(at.topic), Partition: at.partition,
			RequiredAcks: kafkago.RequireAll, Compression: kafkago.Zstd, Records: kafkago.NewRecordReader(records...),
		})
		if err != nil {
			return err
		}
		return res.Error
	})
	if err == nil {
		return nil
	}
	err = b.describe(at.topic, err)
	switch {
	case errors.Is(err, kafkago.MessageSizeTooLarge):
		return stream.Permanent(stream.ReasonTooLarge, fmt.Errorf("message of %d bytes: %s of the topic allows less: %w", size(items[0].msg), maxMessageBytes, err))
	case errors.Is(err, invalidRecord):
		return stream.Permanent(reasonInvalid, err)
	}
	return err
}
