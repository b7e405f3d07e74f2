package flat

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/filelock"
	"github.com/toolstream/toolstream/internal/segmentlog"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// grace is how long the version of a deleted entity is remembered: as long as the
// bus keeps the delete.
const grace = 30 * 24 * time.Hour

var (
	// ErrClosed is what calls fail with after Close.
	ErrClosed = errors.New("flat: the index is closed")
	// ErrInUse is what Open fails with while another process has the folder open.
	ErrInUse = errors.New("flat: the index is in use by another process")
)

// Config says where an index lies and what it works with.
type Config struct {
	Path       string // folder of its files, created when it is missing; used by one process at a time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	WordsOnly  bool // vectors lie elsewhere, and are given to ScoreCandidates
}

// format returns what the records hold.
func (c Config) format() uint64 {
	if c.WordsOnly {
		return format | 1<<32
	}
	return format
}

// Index is an open index. All methods may be called concurrently; changes are
// applied one call at a time, and searches wait for none of them.
type Index struct {
	config  Config
	metrics *metrics
	tenants sync.Map // tenant name to *tenant
	state   atomic.Pointer[state]
	closed  atomic.Bool
	watcher atomic.Pointer[func(string, iter.Seq[Changed])]
	clock   func() time.Time

	// mu serialises writers and guards what follows.
	mu         sync.Mutex
	log        *segmentlog.Log
	at         segmentlog.Place // of the state record
	tombstones []*entity        // deleted ones, and some that came back since

	stop        context.CancelFunc // of the maintenance
	maintenance sync.WaitGroup
}

// Open opens the index in a folder, or begins a new one, and loads it into
// memory. A log that is damaged, or was written by another version of the
// program, is set aside, logged and left for the bus to build again; then
// Positions is empty. ErrInUse says that another process has the folder. ctx
// ends the loading early.
func Open(ctx context.Context, config Config) (*Index, error) {
	i, err := load(ctx, config)
	if errors.Is(err, segmentlog.ErrDamaged) || errors.Is(err, segmentlog.ErrFormat) {
		kept, aside := segmentlog.SetAside(config.Path)
		if aside != nil {
			return nil, fmt.Errorf("flat: set aside the old index: %w", aside)
		}
		config.Logger.Error("the index on disk cannot be used: it is built again from the bus", "cause", err, "kept", kept)
		i, err = load(ctx, config)
	}
	if errors.Is(err, filelock.ErrHeld) {
		return nil, ErrInUse
	}
	if err != nil {
		return nil, fmt.Errorf("flat: open: %w", err)
	}
	if i.metrics, err = newMetrics(config.Registerer, i); err != nil {
		return nil, errors.Join(err, i.log.Close())
	}
	ctx, i.stop = context.WithCancel(context.Background())
	i.maintenance.Go(func() { i.maintain(ctx) })
	return i, nil
}

// Close waits for a running Apply and closes the files. Searches that have begun
// go on to their end; what is called later fails. Closing twice is harmless.
func (i *Index) Close() error {
	i.mu.Lock()
	closed := i.closed.Swap(true)
	i.mu.Unlock()
	if closed {
		return nil
	}
	i.stop()
	i.maintenance.Wait()
	i.metrics.unregister()
	return i.log.Close()
}

// ready returns an error once the index is closed or ctx has ended.
func (i *Index) ready(ctx context.Context) error {
	if i.closed.Load() {
		return ErrClosed
	}
	return ctx.Err()
}

// Positions returns the bus offset up to which changes were applied, by
// partition: those that a restart would find as well.
func (i *Index) Positions() map[int]uint64 { return maps.Clone(i.state.Load().Positions) }

// Model returns the name and dimensions of the model that all vectors come
// from, empty as long as there are none.
func (i *Index) Model() (name string, dimensions int) {
	s := i.state.Load()
	return s.Model, s.Dimensions
}

// batch is one Apply on its way.
type batch struct {
	state   state
	staged  map[schema.Ref]*record
	records []*record // by the first appearance of their refs
}

// Apply stores the changes that are newer than what is there, with the
// positions, in one transaction; when it returns nil, they are durable and
// every search that begins sees them. A change that can never be applied fails
// the call with a permanent error before anything is stored. After any other
// error nothing is stored, and the same call may be repeated.
func (i *Index) Apply(ctx context.Context, changes []events.Change, through map[int]uint64) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.ready(ctx); err != nil {
		return err
	}
	defer i.metrics.applying()()
	now := i.state.Load()
	b := &batch{state: now.clone(), staged: map[schema.Ref]*record{}}
	stale := 0
	for at := range changes {
		newer, err := i.stage(b, &changes[at])
		if err != nil {
			return err
		}
		if !newer {
			stale++
		}
	}
	i.metrics.changes.WithLabelValues(changeStale).Add(float64(stale))
	b.state.advance(through)
	if len(b.records) == 0 && maps.Equal(b.state.Positions, now.Positions) {
		return nil
	}
	return i.commit(b)
}

// stage adds a change to the batch, if it is newer than what is stored and what
// was staged before it.
func (i *Index) stage(b *batch, c *events.Change) (newer bool, err error) {
	r, err := newRecord(c)
	if err != nil {
		return false, err
	}
	if i.config.WordsOnly {
		r.vectors = events.Vectors{Model: r.vectors.Model, Dimensions: r.vectors.Dimensions}
		r.Counts = counts{}
	}
	s := b.staged[c.Ref]
	switch e := i.entity(c.Ref); {
	case s != nil && !c.Version.Newer(s.Version), s == nil && e != nil && !c.Version.Newer(e.version):
		return false, nil // a missing file says nothing about the index's model
	}
	if err := b.state.accept(r); err != nil {
		return false, err
	}
	if s != nil {
		*s = *r
		return true, nil
	}
	b.staged[c.Ref] = r
	b.records = append(b.records, r)
	return true, nil
}

// accept makes sure that all vectors come from one model: those of two do not
// compare.
func (s *state) accept(r *record) error {
	if r.Deleted {
		return nil
	}
	if s.Model == "" && s.Dimensions == 0 {
		s.Model, s.Dimensions = r.vectors.Model, r.vectors.Dimensions
	}
	if r.vectors.Model != s.Model || r.vectors.Dimensions != s.Dimensions {
		return stream.Permanent(ReasonModelMismatch, fmt.Errorf("flat: %s was embedded by %s in %d dimensions, the index holds %s in %d",
			r.Ref.ID, r.vectors.Model, r.vectors.Dimensions, s.Model, s.Dimensions))
	}
	return nil
}

// commit stores a batch, makes it visible, and tidies up.
func (i *Index) commit(b *batch) error {
	values := make([][]byte, 0, len(b.records)+1)
	for _, r := range b.records {
		if !r.Deleted {
			r.words = i.tenant(r.Tenant).lexical.Analyze(lexicalTexts(r.doc, r.Provider))
			r.rows.add(&r.vectors)
		}
		value, err := r.encode()
		if err != nil {
			return stream.Permanent(ReasonBadChange, err)
		}
		values = append(values, value)
		b.state.Entities += live(r.Deleted) - live(i.deleted(r.Ref))
	}
	last, err := encode(typeState, &b.state)
	if err != nil {
		return err
	}
	places, err := i.log.Append(append(values, last))
	if err != nil {
		return fmt.Errorf("flat: write: %w", err)
	}
	i.setState(places[len(places)-1])
	i.publish(b, places)
	if err := i.log.Compact(i.isCurrent, i.moved); err != nil {
		i.config.Logger.Warn("the index on disk could not be compacted", "error", err)
	}
	return nil
}

// setState notes where the newest state record lies.
func (i *Index) setState(p segmentlog.Place) {
	if i.at != (segmentlog.Place{}) {
		i.at.Discard()
	}
	i.at = p
}

// deleted reports whether searches do not know an entity.
func (i *Index) deleted(ref schema.Ref) bool {
	e := i.entity(ref)
	return e == nil || e.deleted()
}

func live(deleted bool) int {
	if deleted {
		return 0
	}
	return 1
}

// publish makes a batch visible that was stored in these places.
func (i *Index) publish(b *batch, places []segmentlog.Place) {
	touched, replaced := map[*tenant][]change{}, make([]*entity, len(b.records))
	for n, r := range b.records {
		t := i.tenant(r.Tenant)
		old := t.entity(r.Kind, r.ID)
		e := newEntity(&r.meta, r.body, places[n])
		replaced[n] = old
		if old != nil {
			old.place.Load().Discard()
		}
		touched[t] = append(touched[t], t.place(e, old, r))
		i.metrics.changes.WithLabelValues(changeOf(r)).Inc()
		if r.Deleted {
			i.tombstones = append(i.tombstones, e)
		}
	}
	for t, changes := range touched {
		if err := t.publish(changes, b.state.Dimensions); err != nil {
			i.config.Logger.Error("entities cannot be found by their words", "error", err)
		}
	}
	i.state.Store(&b.state)
	i.tell(replaced, b.records)
}

// isCurrent reports whether a record of the log is to be kept. The tombstone of
// an entity that is forgotten is, as long as an older record of it may be left.
func (i *Index) isCurrent(p segmentlog.Place, b []byte, oldest bool) bool {
	if b[0] == typeState {
		return p == i.at
	}
	var m meta
	if _, err := decodeMeta(b, &m); err != nil {
		return true
	}
	if e := i.entity(m.Ref); e != nil {
		return *e.place.Load() == p
	}
	return m.Deleted && !oldest
}

// moved notes where a record of the log is now.
func (i *Index) moved(b []byte, to segmentlog.Place) {
	var m meta
	if b[0] == typeState {
		i.at = to
	} else if _, err := decodeMeta(b, &m); err == nil {
		if e := i.entity(m.Ref); e != nil {
			e.place.Store(&to)
		}
	}
}

// Expire forgets tombstones whose grace time is over. It is for a reader that has
// read to where the topic ended when it began: before, what a tombstone keeps out may
// still be to come from another partition. A restart remembers them until the next
// call.
func (i *Index) Expire() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed.Load() {
		return ErrClosed
	}
	limit := i.clock().Add(-grace)
	i.tombstones = slices.DeleteFunc(i.tombstones, func(e *entity) bool {
		if !e.accepted.Before(limit) {
			return false
		}
		if i.entity(e.ref) == e { // it has not come back since
			i.find(e.ref.Tenant).forget(e)
			e.place.Load().Discard()
		}
		return true
	})
	return nil
}

// tenant returns the index of a tenant, a new one if need be. For the writer.
func (i *Index) tenant(name string) *tenant {
	t := i.find(name)
	if t == nil {
		t = newTenant()
		i.tenants.Store(name, t)
	}
	return t
}

// find returns the index of a tenant, nil where there is none.
func (i *Index) find(name string) *tenant {
	t, ok := i.tenants.Load(name)
	if !ok {
		return nil
	}
	return t.(*tenant)
}

// entity returns what is known of an entity, nil where nothing is.
func (i *Index) entity(ref schema.Ref) *entity {
	t := i.find(ref.Tenant)
	if t == nil {
		return nil
	}
	return t.entity(ref.Kind, ref.ID)
}

// maintenanceInterval is how long a tenant is left alone before its lexical scores,
// which changes make inexact, are made exact: an answer then depends on what is
// indexed, and not on the batches in which it came.
const maintenanceInterval = time.Second

// maintain makes the scores of quiet tenants exact.
func (i *Index) maintain(ctx context.Context) {
	tick := time.NewTicker(maintenanceInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		i.mu.Lock()
		i.tenants.Range(func(_, v any) bool {
			t := v.(*tenant)
			if t.changed {
				t.changed = false
			} else {
				t.rebuild()
			}
			return true
		})
		i.mu.Unlock()
	}
}

// Settled reports whether every lexical score is exact: right after a change
// some are not, until the background has come to it.
func (i *Index) Settled() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	settled := true
	i.tenants.Range(func(_, t any) bool {
		settled = t.(*tenant).lexical.Exact()
		return settled
	})
	return settled
}
