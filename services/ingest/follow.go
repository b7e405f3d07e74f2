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

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// progress is how far a reader has come, for those who wait for it.
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

func (p *progress) positions() map[int]uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.at)
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

// news is what a record on tools.raw tells the table.
type news struct {
	ref   schema.Ref
	known known
	same  bool // of the version that is known already
	none  bool // no change at all
	gone  bool // the grace time of a delete is over
}

func newTail(s *Service, deps Deps) (*stream.Tail[news], error) {
	return stream.NewTail(stream.Sink[news]{
		Name: following, Topic: events.ToolsRaw, Decode: s.read, Apply: s.learn,
	}, stream.Deps{
		Follower: deps.Follower, Publisher: deps.Publisher, Logger: deps.Logger, Registerer: deps.Registerer,
	})
}

// read does not decode what is known, such as what the service has published
// itself. A record that is no change is left to the standardizer, which
// dead-letters it.
func (s *Service) read(m stream.Message) (news, error) {
	if m.IsNull() {
		return news{gone: true}, nil
	}
	k, there, _ := s.table.get(m.Key)
	if there && m.Headers[events.HeaderRevision] == strconv.FormatUint(k.Revision, 10) {
		return news{known: k, same: true}, nil
	}
	c, ok := headOf(m)
	if !ok {
		s.metrics.unreadable.Inc()
		return news{none: true}, nil
	}
	return news{ref: c.Ref, known: s.table.knownOf(&c)}, nil
}

// headOf decodes a change. The document, which comes last and is most of it,
// is not looked at if what stands before it is whole. The member's name can
// not stand within a string before it: its quotes would be escaped there.
func headOf(m stream.Message) (c events.Change, ok bool) {
	if i := bytes.Index(m.Value, []byte(rawMember)); i > 0 {
		c, ok = decode(m.Key, append(slices.Clip(m.Value[:i]), '}'))
	}
	if !ok {
		c, ok = decode(m.Key, m.Value)
	}
	return c, ok
}

func decode(key string, value []byte) (events.Change, bool) {
	var c events.Change
	err := json.Unmarshal(value, &c)
	return c, err == nil && c.Op != "" && c.Revision != 0 && c.Revision <= maxRevision && events.Key(c.Ref) == key
}

// learn takes what was read into the table.
func (s *Service) learn(_ context.Context, records []stream.Record[news], positions map[int]uint64) error {
	for _, r := range records {
		m := r.Message
		at := place{offset: m.Offset, partition: int32(m.Partition)}
		switch n := r.Decoded; {
		case n.none:
		case n.gone:
			s.table.drop(m.Key)
		case n.same:
			s.table.seen(m.Key, n.known.Version, at)
		default:
			s.clock.Observe(n.known.Revision)
			s.table.put(n.ref, m.Key, n.known, at)
		}
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
			s.log.Warn("ingest: can not read the bus, trying again", "error", err)
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
		return fmt.Errorf("end of %s: %w", events.ToolsRaw, err)
	}
	return s.progress.reach(ctx, end)
}
