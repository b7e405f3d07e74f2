package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// One send takes at most this much. The server's own limit is 1000
// messages in a batch.
const (
	maxBatch      = 1000
	maxBatchBytes = 16 << 20
)

// ackTime is half the time that an answer is waited for: the server answers in
// milliseconds or, after a failed write, never. A batch that times out may be stored.
const ackTime = 10 * time.Second

// Publish returns nil once every message is on disk. Calls that come while
// another one waits for the disk share its next flush.
func (s *Server) Publish(ctx context.Context, msgs ...stream.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	writes := map[events.Topic]*write{}
	for _, m := range msgs {
		encoded, err := encode(m)
		if err != nil {
			return err
		}
		if writes[m.Topic] == nil {
			writes[m.Topic] = &write{}
		}
		writes[m.Topic].Add(encoded, encoded.Size())
	}
	return stream.WriteAll(ctx, writes, s.writer)
}

// Republish implements stream.Republisher. The server compares the offset as it
// stores, so that nothing can come in between.
func (s *Server) Republish(ctx context.Context, m stream.Message) (bool, error) {
	msg, err := encode(m)
	if err != nil {
		return false, err
	}
	opts := []jetstream.PublishOpt{jetstream.WithExpectStream(streamName(m.Topic))}
	if m.Topic.Compacted() {
		opts = append(opts, jetstream.WithExpectLastSequencePerSubject(m.Offset))
	}
	_, err = s.js.PublishMsg(ctx, msg, opts...)
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("jetstream: republish to %s: %w", m.Topic, full(err))
	}
	return true, nil
}

// write is one call's messages of one topic.
type write = stream.Write[*nats.Msg]

// send stores the group's messages in order. A message that fails does not fail
// the other calls unless it has to: they are tried by themselves then.
func (s *Server) send(name string, group []*write) {
	var all []*nats.Msg
	bytes := 0
	for _, w := range group {
		all = append(all, w.Items...)
		bytes += w.Bytes()
	}
	err := s.Room(bytes)
	if err == nil {
		err = s.store(name, all)
	}
	alone := err != nil && len(group) > 1 && !errors.Is(err, stream.ErrFull)
	for _, w := range group {
		if alone {
			err = s.store(name, w.Items)
		}
		w.Settle(err)
	}
}

// store sends the messages in batches.
func (s *Server) store(name string, msgs []*nats.Msg) error {
	for batch := range slices.Chunk(msgs, maxBatch) {
		if err := s.storeBatch(name, batch); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) storeBatch(name string, batch []*nats.Msg) error {
	ctx, cancel := ackTimeout(context.Background())
	defer cancel()
	if len(batch) >= natsadapter.AtomicFrom {
		err := natsadapter.PublishAtomic(ctx, s.nc, batch)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return s.breakDown(err)
		}
		// A refused batch has stored nothing and hides its cause; singly,
		// the messages are stored or say why they cannot be.
	}
	return s.storeSingly(ctx, name, batch)
}

// ackTimeout returns a context that ends when the store should have answered. It takes
// two timers, the second after the first: while the process is
// stopped, as by its shell, the server in it cannot answer, and one deadline would pass.
func ackTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	first := time.AfterFunc(ackTime, func() {
		second := time.AfterFunc(ackTime, func() { cancel(context.DeadlineExceeded) })
		context.AfterFunc(ctx, func() { second.Stop() })
	})
	return ctx, func() {
		first.Stop()
		cancel(context.Canceled)
	}
}

// storeSingly pipelines the messages and waits for all the acknowledgements.
func (s *Server) storeSingly(ctx context.Context, name string, msgs []*nats.Msg) error {
	acks := make([]jetstream.PubAckFuture, 0, len(msgs))
	for _, m := range msgs {
		ack, err := s.js.PublishMsgAsync(m, jetstream.WithExpectStream(name))
		if err != nil {
			return err
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return full(err)
		case <-ctx.Done():
			return s.breakDown(context.Cause(ctx))
		}
	}
	return nil
}

// Error codes of a server that has no room left.
const (
	codeAccountResources jetstream.ErrorCode = 10002
	codeInsufficient     jetstream.ErrorCode = 10023
	codeStorage          jetstream.ErrorCode = 10047
	codeStoreFailed      jetstream.ErrorCode = 10077
)

// full marks errors that mean: no room, or no writable disk.
func full(err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode {
		case codeAccountResources, codeInsufficient, codeStorage, codeStoreFailed:
			return fmt.Errorf("%w: %w", stream.ErrFull, err)
		}
	}
	return err
}
