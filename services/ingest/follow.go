package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/toolstream/toolstream/internal/boilerplate"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// progress is how far the table has read the bus.
type progress struct {
	mu    sync.Mutex
	at    map[int]uint64 // guarded by mu: the last offset read, by partition
	moved chan struct{}  // guarded by mu: closed, and replaced, at every advance
}

func newProgress() *progress {
	return &progress{at: map[int]uint64{}, moved: make(chan struct{})}
}

func (p *progress) advance(positions map[int]uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.at, positions)
	close(p.moved)
	p.moved = make(chan struct{})
}

// reach blocks until everything up to end has been read.
func (p *progress) reach(ctx context.Context, end map[int]uint64) error {
	for {
		p.mu.Lock()
		moved, there := p.moved, true
		for partition, offset := range end {
			there = there && p.at[partition] >= offset
		}
		p.mu.Unlock()
		if there {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// following is the name under which the table's reading is measured.
const following = "ingest-table"

// update is what a message on tools.raw changes in the table.
type update struct {
	record   *record // nil: nothing but its place
	revision uint64  // of the message
	tool     *boilerplate.Tool
	drop     bool // the grace time of a delete is over
}

func newTail(s *Service, deps Deps) *stream.Tail[update] {
	return stream.NewTail(stream.Sink[update]{
		Name: following, Topic: events.ToolsRaw, Decode: s.decode, Apply: s.apply,
	}, stream.Deps{
		Follower: deps.Follower, Publisher: deps.Publisher, Logger: deps.Logger, Registerer: deps.Registerer,
	})
}

// decode reads a message. Of what is known, such as what the service has published
// itself, only the place is new. A message that is no change is left to the standardizer,
// which dead-letters it.
func (s *Service) decode(m stream.Message) (update, error) {
	if m.IsNull() {
		return update{drop: true}, nil
	}
	known, there, _ := s.table.get(m.Key)
	if there && m.Headers[events.HeaderRevision] == strconv.FormatUint(known.Revision, 10) {
		return update{revision: known.Revision}, nil
	}
	c, ok := decodeHead(m)
	if !ok {
		s.metrics.unreadable.Inc()
		return update{}, nil
	}
	r := recordOf(&c)
	return update{record: &r, revision: r.Revision, tool: toolIn(m, &c)}, nil
}

// decodeHead decodes a change without its document, which comes last and is most
// of it, if what stands before it is whole. The member's name cannot stand within
// a string before it: its quotes would be escaped there.
func decodeHead(m stream.Message) (c events.Change, ok bool) {
	if i := bytes.Index(m.Value, []byte(rawMember)); i > 0 {
		c, ok = decodeChange(m.Key, append(slices.Clip(m.Value[:i]), '}'))
	}
	if !ok {
		c, ok = decodeChange(m.Key, m.Value)
	}
	return c, ok
}

func decodeChange(key string, value []byte) (events.Change, bool) {
	var c events.Change
	err := json.Unmarshal(value, &c)
	return c, err == nil && c.Op != "" && c.Revision != 0 && c.Revision <= events.MaxRevision && events.Key(c.Ref) == key
}

// apply takes what was read into the table.
func (s *Service) apply(_ context.Context, records []stream.Record[update], positions map[int]uint64) error {
	for _, r := range records {
		switch u := r.Decoded; {
		case u.drop:
			s.table.drop(r.Message.Key)
		case u.record != nil:
			s.clock.Observe(u.record.Revision)
			s.table.put(r.Message.Key, *u.record)
		}
		if r.Decoded.tool != nil {
			s.outdated.add(s.counter.Add(*r.Decoded.tool))
		}
		s.table.locate(r.Message.Key, r.Decoded.revision, r.Message.Partition, r.Message.Offset)
	}
	s.progress.advance(positions)
	return nil
}

// load waits until the table holds what was on the bus at the start, and says
// so.
func (s *Service) load(ctx context.Context) {
	err := backoff.RetryNotify(
		func() error { return s.catchUp(ctx) },
		backoff.WithContext(backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0)), ctx),
		func(err error, _ time.Duration) {
			s.log.Warn("ingest: cannot read the bus, trying again", "error", err)
		})
	if err == nil {
		s.log.Info("ingest: ready", "known", s.table.Len())
		close(s.loaded)
	}
}

// catchUp waits until the table holds everything that is on the bus now.
func (s *Service) catchUp(ctx context.Context) error {
	end, err := s.follower.End(ctx, events.ToolsRaw)
	if err != nil {
		return unavailable(fmt.Errorf("end of %s: %w", events.ToolsRaw, err))
	}
	if err := s.progress.reach(ctx, end); err != nil {
		return unavailable(fmt.Errorf("catch up: %w", err))
	}
	return nil
}
