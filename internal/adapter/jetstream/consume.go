package jetstream

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// Consume hands each partition to handle. A second member of a group waits
// until the first one lets go of a partition.
func (s *Server) Consume(ctx context.Context, topic events.Topic, group string, handle func(context.Context, stream.Partition) error) error {
	g, gctx := errgroup.WithContext(ctx)
	for p := range s.cfg.Partitions {
		g.Go(func() error { return s.consume(gctx, claim{group, topic, p}, handle) })
	}
	return stream.OrDone(ctx, g.Wait())
}

func (s *Server) consume(ctx context.Context, c claim, handle func(context.Context, stream.Partition) error) error {
	lease := s.lease(c)
	select {
	case <-ctx.Done():
		return nil
	case lease <- struct{}{}:
	}
	defer func() { <-lease }()
	at, err := s.position(ctx, c)
	if err != nil {
		return err
	}
	r := &reader{server: s, topic: c.topic, partition: c.partition, read: at}
	defer r.close()
	return handle(ctx, &partition{reader: r, claim: c, committed: at})
}

func (s *Server) lease(c claim) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases[c] == nil {
		s.leases[c] = make(chan struct{}, 1)
	}
	return s.leases[c]
}

// partition is one handler's hold on a partition. Its methods are called one
// at a time.
type partition struct {
	reader    *reader
	claim     claim
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
	if err := p.reader.server.savePosition(ctx, p.claim, through); err != nil {
		return err
	}
	p.committed = through
	return nil
}

// followBatch is how many messages Follow hands over at most.
const followBatch = 512

// Follow implements stream.Follower.
func (s *Server) Follow(ctx context.Context, topic events.Topic, from map[int]uint64, handle func(context.Context, []stream.Message) error) error {
	above := make([]uint64, s.cfg.Partitions)
	for p := range above {
		at, err := s.checkEnd(ctx, topic, from[p])
		if err != nil {
			return stream.OrDone(ctx, err)
		}
		above[p] = at
	}
	batches := make(chan []stream.Message)
	g, gctx := errgroup.WithContext(ctx)
	for p := range s.cfg.Partitions {
		g.Go(func() error {
			r := &reader{server: s, topic: topic, partition: p, read: above[p]}
			defer r.close()
			return stream.Pour(gctx, batches, r.fetch, followBatch)
		})
	}
	g.Go(func() error { return stream.Deliver(gctx, batches, handle) })
	return stream.OrDone(ctx, g.Wait())
}

// End implements stream.Follower. A topic whose records have all aged out
// counts as empty: there is nothing left to catch up with. Nor is there at a last
// record that can not be read, of which the loss was accepted.
func (s *Server) End(ctx context.Context, topic events.Topic) (map[int]uint64, error) {
	st, err := s.js.Stream(ctx, s.cfg.streamName(topic))
	if err != nil {
		return nil, fmt.Errorf("jetstream: end of %s: %w", topic, err)
	}
	state := st.CachedInfo().State
	ends := make(map[int]uint64, s.cfg.Partitions)
	for p := range s.cfg.Partitions {
		ends[p] = 0
		if state.Msgs == 0 {
			continue
		}
		if s.cfg.Partitions == 1 {
			ends[p] = state.LastSeq
			if e, torn := s.torn[topic]; torn && e.last == state.LastSeq {
				ends[p] = e.readable
			}
			continue
		}
		if ends[p], err = s.lastOf(ctx, st, s.cfg.partitionSubject(topic, p)+".>"); err != nil {
			return nil, fmt.Errorf("jetstream: end of %s: %w", topic, err)
		}
	}
	return ends, nil
}
