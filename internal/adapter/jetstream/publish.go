package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// A lane sends at most this much at once. The server's own limit is 1000
// messages in a batch.
const (
	maxBatch      = 1000
	maxBatchBytes = 16 << 20
)

// atomicFrom is how many messages make an atomic batch cheaper than as many
// single ones: it costs some four milliseconds once instead of a flush to disk
// for every message.
const atomicFrom = 16

// A batch is waited for through so many ticks: the server answers in milliseconds or,
// after a failed write, never. What times out may be stored.
const (
	ackTicks = 20
	ackTick  = time.Second
)

var errClosed = errors.New("jetstream: bus is closed")

// Publish returns nil once every message is on disk. Calls that come while
// another one waits for the disk share its next flush.
func (s *Server) Publish(ctx context.Context, msgs ...stream.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	writes := map[events.Topic]*write{}
	for _, m := range msgs {
		encoded, err := s.cfg.encode(m)
		if err != nil {
			return err
		}
		w := writes[m.Topic]
		if w == nil {
			w = &write{done: make(chan error, 1)}
			writes[m.Topic] = w
		}
		w.msgs = append(w.msgs, encoded)
		w.bytes += encoded.Size()
	}
	for topic, w := range writes {
		l := s.lane(topic)
		if l == nil {
			return fmt.Errorf("jetstream: publish: unknown topic %q", topic)
		}
		if err := l.put(ctx, w); err != nil {
			return err
		}
	}
	var errs []error
	for topic, w := range writes {
		if err := s.lane(topic).await(ctx, w); err != nil {
			errs = append(errs, fmt.Errorf("jetstream: publish to %s: %w", topic, err))
		}
	}
	return errors.Join(errs...)
}

// Republish implements stream.Republisher. The server compares the offset as it
// stores, so that nothing can come in between.
func (s *Server) Republish(ctx context.Context, m stream.Message) (bool, error) {
	msg, err := s.cfg.encode(m)
	if err != nil {
		return false, err
	}
	opts := []jetstream.PublishOpt{jetstream.WithExpectStream(s.cfg.streamName(m.Topic))}
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
type write struct {
	msgs  []*nats.Msg
	bytes int
	done  chan error // receives once
}

// lane sends one topic's messages, one batch at a time, so that their order is
// the order of the calls.
type lane struct {
	server *Server
	stream string
	queue  chan *write
	quit   <-chan struct{}
	ended  chan struct{} // closed once nothing in the queue will be answered
}

func (s *Server) lane(topic events.Topic) *lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lanes[topic]
}

// startLane starts the lane of a topic. The caller holds mu.
func (s *Server) startLane(topic events.Topic) {
	l := &lane{server: s, stream: s.cfg.streamName(topic), queue: make(chan *write, 256), quit: s.quit, ended: make(chan struct{})}
	s.lanes[topic] = l
	s.work.Go(l.run)
}

func (l *lane) put(ctx context.Context, w *write) error {
	select {
	case <-l.quit:
		return errClosed
	default:
	}
	select {
	case l.queue <- w:
		return nil
	case <-l.quit:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// await returns what became of a write.
func (l *lane) await(ctx context.Context, w *write) error {
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("not known to be stored: %w", ctx.Err())
	case <-l.ended:
	}
	select {
	case err := <-w.done:
		return err
	default: // it slipped into the queue while the lane ended
		return errClosed
	}
}

// run sends until the bus closes, then what is in the queue.
func (l *lane) run() {
	defer close(l.ended)
	for {
		select {
		case w := <-l.queue:
			l.send(l.gather(w))
			continue
		default:
		}
		select {
		case w := <-l.queue:
			l.send(l.gather(w))
		case <-l.quit:
			return
		}
	}
}

// gather adds what else waits in the queue, within the limits of a batch.
func (l *lane) gather(first *write) []*write {
	group := []*write{first}
	count, bytes := len(first.msgs), first.bytes
	for count < maxBatch && bytes < maxBatchBytes {
		select {
		case w := <-l.queue:
			group = append(group, w)
			count += len(w.msgs)
			bytes += w.bytes
		default:
			return group
		}
	}
	return group
}

// send stores the group's messages in order. One that fails does not fail the
// others' calls unless it has to: they are tried on their own then.
func (l *lane) send(group []*write) {
	var all []*nats.Msg
	bytes := 0
	for _, w := range group {
		all = append(all, w.msgs...)
		bytes += w.bytes
	}
	err := l.server.room(bytes)
	if err == nil {
		err = l.store(all)
	}
	if err == nil || len(group) == 1 || errors.Is(err, stream.ErrFull) {
		for _, w := range group {
			w.done <- err
		}
		return
	}
	for _, w := range group {
		w.done <- l.store(w.msgs)
	}
}

// store sends the messages in batches.
func (l *lane) store(msgs []*nats.Msg) error {
	for batch := range slices.Chunk(msgs, maxBatch) {
		if err := l.storeBatch(batch); err != nil {
			return err
		}
	}
	return nil
}

func (l *lane) storeBatch(batch []*nats.Msg) error {
	ctx, cancel := ackPatience(context.Background())
	defer cancel()
	if len(batch) >= atomicFrom {
		err := l.storeAtomic(ctx, batch)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return l.server.breakDown(err)
		}
		// A refused batch has stored nothing and hides its cause; singly,
		// the messages are stored or say why they can not be.
	}
	return l.storeSingly(ctx, batch)
}

// ackPatience returns a context that ends when the store should have answered.
func ackPatience(ctx context.Context) (context.Context, context.CancelFunc) {
	ticker := time.NewTicker(ackTick)
	ctx, cancel := within(ctx, ticker.C, ackTicks)
	return ctx, func() {
		ticker.Stop()
		cancel()
	}
}

// within returns a context that ends after so many ticks. A time in which the process is
// stopped, as by its shell or with its machine, is one of them: the server in it can not
// answer meanwhile either, and a deadline would have passed.
func within(ctx context.Context, ticks <-chan time.Time, n int) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for range n {
			select {
			case <-ticks:
			case <-ctx.Done():
				return
			}
		}
		cancel(context.DeadlineExceeded)
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// storeSingly pipelines the messages and waits for all the acknowledgements.
func (l *lane) storeSingly(ctx context.Context, msgs []*nats.Msg) error {
	acks := make([]jetstream.PubAckFuture, 0, len(msgs))
	for _, m := range msgs {
		ack, err := l.server.js.PublishMsgAsync(m, jetstream.WithExpectStream(l.stream))
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
			return l.server.breakDown(context.Cause(ctx))
		}
	}
	return nil
}

// storeAtomic stores all messages or none, with one flush to disk.
// See https://github.com/nats-io/nats-architecture-and-design, ADR-50.
func (l *lane) storeAtomic(ctx context.Context, msgs []*nats.Msg) error {
	id := l.server.nc.NewRespInbox()
	last := len(msgs) - 1
	for i, m := range msgs {
		m = inBatch(m, id, i+1)
		if i < last {
			if err := l.server.nc.PublishMsg(m); err != nil {
				return err
			}
			continue
		}
		m.Header["Nats-Batch-Commit"] = []string{"1"}
		answer, err := l.server.nc.RequestMsgWithContext(ctx, m)
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
		return full(ack.Error)
	}
	if ack.Count != want {
		return fmt.Errorf("batch acknowledgement for %d of %d messages", ack.Count, want)
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
