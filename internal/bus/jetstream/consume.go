package jetstream

import (
	"context"
	"fmt"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// Consume hands the only partition of the topic to handle. A second member of a group waits
// until the first one is done.
func (s *Server) Consume(ctx context.Context, topic events.Topic, group string, handle func(context.Context, stream.Partition) error) error {
	c := consumer{group, topic}
	s.mu.Lock()
	if s.members[c] == nil {
		s.members[c] = make(chan struct{}, 1)
	}
	member := s.members[c]
	s.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil
	case member <- struct{}{}:
	}
	defer func() { <-member }()
	at, err := s.positions.get(ctx, c)
	if err != nil {
		return stream.OrDone(ctx, err)
	}
	r := s.reader(topic, at)
	defer r.close()
	return stream.OrDone(ctx, handle(ctx, &partition{reader: r, positions: s.positions, consumer: c, committed: at}))
}

func (s *Server) reader(topic events.Topic, after uint64) *reader {
	return &reader{js: s.js, erased: s.erased, log: s.log, topic: topic, read: after}
}

// Committed returns the offset that a group has committed of each partition of a topic, 0 if
// it has not yet.
func (s *Server) Committed(ctx context.Context, topic events.Topic, group string) (map[int]uint64, error) {
	offset, err := s.positions.get(ctx, consumer{group, topic})
	return map[int]uint64{0: offset}, err
}

// partition is a handler's assignment. Its methods are called one at a time.
type partition struct {
	*reader
	positions positions
	consumer  consumer
	committed uint64
}

// Commit implements stream.Partition. The position is on disk when it returns.
func (p *partition) Commit(ctx context.Context, through uint64) error {
	if through <= p.committed {
		return nil
	}
	if err := p.positions.save(ctx, p.consumer, through); err != nil {
		return err
	}
	p.committed = through
	return nil
}

// followBatch is how many messages Follow hands over at most.
const followBatch = 512

// Follow implements stream.Follower. A position past the end of the topic means that messages
// are lost. If that loss is accepted, the reader goes on with the messages that came after
// the bus was opened.
func (s *Server) Follow(ctx context.Context, topic events.Topic, from map[int]uint64, handle func(context.Context, []stream.Message) error) error {
	at := from[0]
	now, err := s.losses.extent(ctx, topic)
	if err == nil && at > now.Last {
		err = s.losses.accept(behind(topic, now.Last, "a reader", at))
		at = s.losses.opened[topic]
	}
	if err != nil {
		return stream.OrDone(ctx, err)
	}
	r := s.reader(topic, at)
	defer r.close()
	for {
		msgs, err := r.Fetch(ctx, followBatch)
		if err == nil {
			err = handle(ctx, msgs)
		}
		if err != nil {
			return stream.OrDone(ctx, err)
		}
	}
}

// End implements stream.Follower. A topic whose records have all aged out counts as empty:
// there is nothing left to catch up with. An unreadable last record whose loss was accepted
// does not count either.
func (s *Server) End(ctx context.Context, topic events.Topic) (map[int]uint64, error) {
	st, err := s.js.Stream(ctx, streamName(topic))
	if err != nil {
		return nil, fmt.Errorf("jetstream: end of %s: %w", topic, err)
	}
	state := st.CachedInfo().State
	end := state.LastSeq
	if e, torn := s.losses.torn[topic]; torn && e.last == end {
		end = e.readable
	}
	if state.Msgs == 0 {
		end = 0
	}
	return map[int]uint64{0: end}, nil
}
