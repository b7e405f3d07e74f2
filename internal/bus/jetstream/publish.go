package jetstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	natsadapter "github.com/toolstream/toolstream/internal/bus/nats"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// One send takes at most this much. The server's own limit is 1000
// messages in a batch.
const (
	maxBatch      = 1000
	maxBatchBytes = 16 << 20
)

// ackTime is half of the time to wait for an acknowledgement: the server answers in
// milliseconds or, after a failed write, never. A batch that timed out may have been stored.
const ackTime = 10 * time.Second

// Publish returns nil once every message is on disk. Calls that arrive during a flush share
// the next one.
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
	return stream.WriteAll(ctx, writes, s.writers.get)
}

// Republish implements stream.Republisher. The server compares the offset and stores in one
// step, so that nothing can come in between.
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
		return false, fmt.Errorf("jetstream: republish to %s: %w", m.Topic, asFull(err))
	}
	return true, nil
}

// write is one call's messages of one topic.
type write = stream.Write[*nats.Msg]

// writers store the messages of each topic in batches.
type writers struct {
	js      jetstream.JetStream
	nc      *nats.Conn
	room    func(bytes int) error
	failure *failure
	quit    <-chan struct{}
	work    *sync.WaitGroup

	mu      sync.Mutex // guards byTopic
	byTopic map[events.Topic]*stream.Batcher[*nats.Msg]
}

// start starts the writer of a topic if it is not running. It ends with the bus.
func (w *writers) start(topic events.Topic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byTopic[topic] == nil {
		b := stream.NewBatcher(maxBatch, maxBatchBytes, w.quit, func(group []*write) { w.send(streamName(topic), group) })
		w.byTopic[topic] = b
		w.work.Go(b.Run)
	}
}

func (w *writers) get(topic events.Topic) (*stream.Batcher[*nats.Msg], error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byTopic[topic] == nil {
		return nil, fmt.Errorf("jetstream: unknown topic %q", topic)
	}
	return w.byTopic[topic], nil
}

func (w *writers) remove(topic events.Topic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byTopic, topic)
}

// topics returns the topics that exist, in any order.
func (w *writers) topics() []events.Topic {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.byTopic))
}

// send stores the messages of a group of calls, in order. If that fails, each call is tried
// on its own, so that one bad message does not fail the others.
func (w *writers) send(name string, group []*write) {
	var all []*nats.Msg
	bytes := 0
	for _, c := range group {
		all = append(all, c.Items...)
		bytes += c.Bytes()
	}
	err := w.room(bytes)
	if err == nil {
		err = w.store(name, all)
	}
	alone := err != nil && len(group) > 1 && !errors.Is(err, stream.ErrFull)
	for _, c := range group {
		if alone {
			err = w.store(name, c.Items)
		}
		c.Settle(err)
	}
}

// store sends the messages in batches.
func (w *writers) store(name string, msgs []*nats.Msg) error {
	for batch := range slices.Chunk(msgs, maxBatch) {
		ctx, cancel := ackTimeout(context.Background())
		err := natsadapter.Store(ctx, w.nc, w.js, batch, jetstream.WithExpectStream(name))
		late := ctx.Err() != nil
		cancel()
		if err != nil && late {
			return w.failure.report(err)
		}
		if err != nil {
			return asFull(err)
		}
	}
	return nil
}

// ackTimeout returns a context that ends when the store should have answered. It uses two
// timers, one after the other: while the process is stopped, for example by its shell, the
// server inside it cannot answer, and a single deadline would pass.
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

// Error codes of a server whose disk is full.
const (
	codeAccountResources jetstream.ErrorCode = 10002
	codeInsufficient     jetstream.ErrorCode = 10023
	codeStorage          jetstream.ErrorCode = 10047
	codeStoreFailed      jetstream.ErrorCode = 10077
)

// asFull adds stream.ErrFull to an error of the server that means a full or unwritable disk.
func asFull(err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode {
		case codeAccountResources, codeInsufficient, codeStorage, codeStoreFailed:
			return fmt.Errorf("%w: %w", stream.ErrFull, err)
		}
	}
	return err
}
