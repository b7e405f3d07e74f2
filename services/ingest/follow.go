package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// progress is how far the table has read the bus.
type progress struct {
	mu    sync.Mutex
	at    map[int]uint64 // guarded by mu: the last offset read, by partition
	moved chan struct{}  // guarded by mu: closed, and replaced, at every advance
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

// replica is this process's copy of tools.raw: a table of the newest change of every entity,
// kept current by a tail.
type replica struct {
	table      *table
	clock      *clock
	follower   stream.Follower
	tail       *stream.Tail[update]
	progress   *progress
	log        *slog.Logger
	unreadable prometheus.Counter
	loadWait   time.Duration
	loaded     chan struct{} // closed once the table has caught up with the bus for the first time
	ending     chan struct{} // closed once the service stops
}

func newReplica(loadWait time.Duration, deps Deps) *replica {
	r := &replica{
		table: newTable(), clock: newClock(deps.Now), follower: deps.Follower, progress: &progress{at: map[int]uint64{}, moved: make(chan struct{})}, log: deps.Logger,
		loadWait: loadWait, loaded: make(chan struct{}), ending: make(chan struct{}),
	}
	r.tail = stream.NewTail(
		stream.Sink[update]{Name: "ingest-table", Topic: events.ToolsRaw, Decode: r.decode, Apply: r.apply},
		stream.Deps{Follower: deps.Follower, Publisher: deps.Publisher, Logger: deps.Logger, Registerer: deps.Registerer},
	)
	return r
}

// update is the effect of a message on the table.
type update struct {
	record   *record // nil: only its position changes
	revision uint64  // of the message
	drop     bool    // the grace time of a delete is over
}

// decode reads a message. A change that is known already, such as one that this process
// published, updates only its position. A message that is not a change is left to the
// standardizer, which dead-letters it.
func (r *replica) decode(m stream.Message) (update, error) {
	if m.IsNull() {
		return update{drop: true}, nil
	}
	known, there, _ := r.table.get(m.Key)
	if there && m.Headers[events.HeaderRevision] == strconv.FormatUint(known.Revision, 10) {
		return update{revision: known.Revision}, nil
	}
	c, ok := decodeHead(m)
	if !ok {
		r.unreadable.Inc()
		return update{}, nil
	}
	known = recordOf(&c)
	return update{record: &known, revision: known.Revision}, nil
}

// decodeHead decodes a change without its document, which comes last and is most of it, if
// everything before it is complete. A string before it cannot contain the name of the member:
// its quotes would be escaped.
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

// apply updates the table.
func (r *replica) apply(_ context.Context, records []stream.Record[update], positions map[int]uint64) error {
	for _, rec := range records {
		switch u := rec.Decoded; {
		case u.drop:
			r.table.drop(rec.Message.Key)
		case u.record != nil:
			r.clock.Observe(u.record.Revision)
			r.table.put(rec.Message.Key, *u.record)
		}
		r.table.setPosition(rec.Message.Key, rec.Decoded.revision, rec.Message.Partition, rec.Message.Offset)
	}
	r.progress.advance(positions)
	return nil
}

// load closes loaded once the table has caught up with the bus.
func (r *replica) load(ctx context.Context) {
	err := backoff.RetryNotify(
		func() error { return r.catchUp(ctx) },
		backoff.WithContext(backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(0)), ctx),
		func(err error, _ time.Duration) {
			r.log.Warn("ingest: cannot read the bus, trying again", "error", err)
		})
	if err == nil {
		r.log.Info("ingest: ready", "known", r.table.Len())
		close(r.loaded)
	}
}

// ready reports whether the table is loaded.
func (r *replica) ready() bool {
	select {
	case <-r.loaded:
		return true
	default:
		return false
	}
}

// awaitLoaded waits for the table for at most Config.LoadWait.
func (r *replica) awaitLoaded(ctx context.Context) error {
	if r.ready() {
		return nil
	}
	timer := time.NewTimer(r.loadWait)
	defer timer.Stop()
	select {
	case <-r.loaded:
		return nil
	case <-r.ending:
		return unavailable(errStopped)
	case <-timer.C:
		return unavailable(errLoading)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// catchUp waits until the table holds everything that is on the bus now.
func (r *replica) catchUp(ctx context.Context) error {
	end, err := r.follower.End(ctx, events.ToolsRaw)
	if err != nil {
		return unavailable(fmt.Errorf("end of %s: %w", events.ToolsRaw, err))
	}
	if err := r.progress.reach(ctx, end); err != nil {
		return unavailable(fmt.Errorf("catch up: %w", err))
	}
	return nil
}

// current waits until the table is loaded and holds everything that is on the bus now.
func (r *replica) current(ctx context.Context) error {
	if err := r.awaitLoaded(ctx); err != nil {
		return err
	}
	return r.catchUp(ctx)
}
