package jetstream

import (
	"context"
	"fmt"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// Consume hands the one partition of the topic to handle. A second member of a
// group waits until the first lets go of it.
func (s *Server) Consume(ctx context.Context, topic events.Topic, group string, handle func(context.Context, stream.Partition) error) error {
	c := consumer{group, topic}
	member := s.member(c)
	select {
	case <-ctx.Done():
		return nil
	case member <- struct{}{}:
	}
	defer func() { <-member }()
	at, err := s.position(ctx, c)
	if err != nil {
		return stream.OrDone(ctx, err)
	}
	r := &reader{server: s, topic: topic, read: at}
	defer r.close()
	return stream.OrDone(ctx, handle(ctx, &partition{reader: r, consumer: c, committed: at}))
}

func (s *Server) member(c consumer) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.members[c] == nil {
		s.members[c] = make(chan struct{}, 1)
	}
	return s.members[c]
}

// partition is a handler's assignment. Its methods are called one at a time.
type partition struct {
	reader    *reader
	consumer  consumer
	committed uint64
}

// Fetch implements stream.Partition.
func (p *partition) Fetch(ctx context.Context, max int) ([]stream.Message, error) {
	return p.reader.fetch(ctx, max)
}

// Commit implements stream.Partition. The position is on disk when it returns.
func (p *partition) Commit(ctx context.Context, through uint64) error {
	if through <= p.committed {
		return nil
	}
	if err := p.reader.server.savePosition(ctx, p.consumer, through); err != nil {
		return err
	}
	p.committed = through
	return nil
}

// followBatch is how many messages Follow hands over at most.
const followBatch = 512

// Follow implements stream.Follower. A position behind the end of the topic is of
// messages that were there and are not any more; if that loss is accepted, the
// reader goes on with what came since the bus was opened.
func (s *Server) Follow(ctx context.Context, topic events.Topic, from map[int]uint64, handle func(context.Context, []stream.Message) error) error {
	at := from[0]
	now, err := s.extent(ctx, topic)
	if err == nil && at > now.Last {
		err = s.lost(behind(topic, now.Last, "a reader", at))
		at = s.opened[topic]
	}
	if err != nil {
		return stream.OrDone(ctx, err)
	}
	r := &reader{server: s, topic: topic, read: at}
	defer r.close()
	for {
		msgs, err := r.fetch(ctx, followBatch)
		if err == nil {
			err = handle(ctx, msgs)
		}
		if err != nil {
			return stream.OrDone(ctx, err)
		}
	}
}

// End implements stream.Follower. A topic whose records have all aged out
// counts as empty: there is nothing left to catch up with. Nor is there at a last
// record that cannot be read, if its loss was accepted.
func (s *Server) End(ctx context.Context, topic events.Topic) (map[int]uint64, error) {
	st, err := s.js.Stream(ctx, streamName(topic))
	if err != nil {
		return nil, fmt.Errorf("jetstream: end of %s: %w", topic, err)
	}
	state := st.CachedInfo().State
	end := state.LastSeq
	if e, torn := s.torn[topic]; torn && e.last == end {
		end = e.readable
	}
	if state.Msgs == 0 {
		end = 0
	}
	return map[int]uint64{0: end}, nil
}
