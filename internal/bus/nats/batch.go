package nats

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The server's limit is 1000 messages in a batch.
const (
	maxBatch      = 1000
	maxBatchBytes = 16 << 20
)

// atomicFrom is the number of messages from which an atomic batch is cheaper than single ones if
// each is flushed to disk: it costs some four milliseconds once instead of a flush for every
// message.
const atomicFrom = 16

// Store stores messages of one stream and waits for their acknowledgement. A refused batch has
// stored nothing and hides its cause, and some servers and buckets know no batches. Sent alone,
// each message is stored or returns its own cause.
func Store(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, msgs []*nats.Msg, opts ...jetstream.PublishOpt) error {
	if len(msgs) >= atomicFrom {
		if err := publishAtomic(ctx, nc, msgs); err == nil || ctx.Err() != nil {
			return err
		}
	}
	acks := make([]jetstream.PubAckFuture, 0, len(msgs))
	for _, m := range msgs {
		ack, err := js.PublishMsgAsync(m, opts...)
		if err != nil {
			return err
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// publishAtomic stores all messages, which are of one stream, or none, with one flush to disk. If
// the server refuses them, the error is a *jetstream.APIError. See
// https://github.com/nats-io/nats-architecture-and-design, ADR-50.
func publishAtomic(ctx context.Context, nc *nats.Conn, msgs []*nats.Msg) error {
	id := nc.NewRespInbox()
	last := len(msgs) - 1
	for i, m := range msgs {
		m = inBatch(m, id, i+1)
		if i < last {
			if err := nc.PublishMsg(m); err != nil {
				return err
			}
			continue
		}
		m.Header["Nats-Batch-Commit"] = []string{"1"}
		answer, err := nc.RequestMsgWithContext(ctx, m)
		if err != nil {
			return err
		}
		return batchError(answer.Data, len(msgs))
	}
	return nil
}

// inBatch returns a copy of m, whose headers stay as they are for a second
// try, as number n of batch id.
func inBatch(m *nats.Msg, id string, n int) *nats.Msg {
	h := make(nats.Header, len(m.Header)+3)
	for name, values := range m.Header {
		h[name] = values
	}
	h["Nats-Batch-Id"] = []string{id}
	h["Nats-Batch-Sequence"] = []string{strconv.Itoa(n)}
	return &nats.Msg{Subject: m.Subject, Header: h, Data: m.Data}
}

// batchError reads the server's answer to a commit.
func batchError(answer []byte, want int) error {
	var ack struct {
		Count int                 `json:"count"`
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(answer, &ack); err != nil {
		return fmt.Errorf("batch acknowledgement: %w", err)
	}
	if ack.Error != nil {
		return ack.Error
	}
	if ack.Count != want {
		return fmt.Errorf("batch acknowledgement for %d of %d messages", ack.Count, want)
	}
	return nil
}
