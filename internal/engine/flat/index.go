package flat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/segmentlog"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// grace is how long the version of a deleted entity is remembered: as long as the
// bus keeps the delete.
const grace = 30 * 24 * time.Hour

var (
	// ErrClosed is the error of calls after Close.
	ErrClosed = errors.New("flat: the index is closed")
	// ErrInUse is the error of Open while another process has the folder open.
	ErrInUse = errors.New("flat: the index is in use by another process")
)

// Config holds the location and the dependencies of an index.
type Config struct {
	Path       string // folder of its files, created when it is missing; used by one process at a time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	WordsOnly  bool // vectors lie elsewhere, and are given to ScoreCandidates
}

// Index is an open index. All methods may be called concurrently; changes are applied one call at
// a time, and searches do not wait for them.
type Index struct {
	watcher
	config  Config
	metrics *metrics
	tenants *tenants
	state   atomic.Pointer[state]
	closed  atomic.Bool
	clock   func() time.Time

	// mu serialises writers and guards the rest.
	mu         sync.Mutex
	records    records
	tombstones []*entity // deleted entities, and some that came back since

	stop        context.CancelFunc // of the maintenance
	maintenance sync.WaitGroup
}

// Open opens the index in a folder, or begins a new one, and loads it into memory. A log that is
// damaged, or was written by another version of the program, is set aside, logged and left for the
// bus to build again; then Positions is empty. The error is ErrInUse if another process has the
// folder. ctx ends the loading early.
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
	if errors.Is(err, files.ErrLocked) {
		return nil, ErrInUse
	}
	if err != nil {
		return nil, fmt.Errorf("flat: open: %w", err)
	}
	if i.metrics, err = newMetrics(config.Registerer, i); err != nil {
		return nil, errors.Join(err, i.records.log.Close())
	}
	ctx, i.stop = context.WithCancel(context.Background())
	i.maintenance.Go(func() { i.maintain(ctx) })
	return i, nil
}

// Close waits for a running Apply and closes the files. Searches that have begun
// go on to their end; later calls fail. Closing twice is harmless.
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
	return i.records.log.Close()
}

// ready returns an error once the index is closed or ctx has ended.
func (i *Index) ready(ctx context.Context) error {
	if i.closed.Load() {
		return ErrClosed
	}
	return ctx.Err()
}

// Positions returns the bus offset of the last applied change, by partition, as a restart would
// find it.
func (i *Index) Positions() map[int]uint64 { return maps.Clone(i.state.Load().Positions) }

// Model returns the name and dimensions of the model that all vectors come
// from, empty until the first vector.
func (i *Index) Model() (name string, dimensions int) {
	s := i.state.Load()
	return s.Model, s.Dimensions
}

// batch is one Apply on its way.
type batch struct {
	state   *state // of its own allocation: it outlives the batch
	staged  map[schema.Ref]*record
	records []*record // by the first appearance of their refs
}

// Apply stores the changes that are newer than the stored versions, with the
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
	defer prometheus.NewTimer(i.metrics.apply).ObserveDuration()
	now := i.state.Load()
	b := &batch{state: now.clone(), staged: map[schema.Ref]*record{}}
	stale := 0
	for at := range changes {
		newer, err := b.stage(&changes[at], i.tenants.entity(changes[at].Ref), i.config.WordsOnly)
		if err != nil {
			return err
		}
		if !newer {
			stale++
		}
	}
	i.metrics.changes.WithLabelValues(changeStale).Add(float64(stale))
	// Positions never fall.
	for p, at := range through {
		b.state.Positions[p] = max(b.state.Positions[p], at)
	}
	if len(b.records) == 0 && maps.Equal(b.state.Positions, now.Positions) {
		return nil
	}
	return i.commit(b)
}

// stage adds a change to the batch, if it is newer than the stored and the staged version.
func (b *batch) stage(c *events.Change, stored *entity, wordsOnly bool) (newer bool, err error) {
	r, err := newRecord(c)
	if err != nil {
		return false, err
	}
	if wordsOnly {
		r.vectors = events.Vectors{Model: r.vectors.Model, Dimensions: r.vectors.Dimensions}
		r.Counts = counts{}
	}
	staged := b.staged[c.Ref]
	if staged != nil && !c.Version.Newer(staged.Version) || staged == nil && stored != nil && !c.Version.Newer(stored.version) {
		return false, nil // without the file the index's model is unknown
	}
	if v, in := &r.vectors, b.state; !r.Deleted { // vectors of different models cannot be compared
		if in.Model == "" && in.Dimensions == 0 {
			in.Model, in.Dimensions = v.Model, v.Dimensions
		}
		if v.Model != in.Model || v.Dimensions != in.Dimensions {
			return false, stream.Permanent(ReasonModelMismatch, fmt.Errorf("flat: %s was embedded by %s in %d dimensions, the index holds %s in %d",
				r.Ref.ID, v.Model, v.Dimensions, in.Model, in.Dimensions))
		}
	}
	if staged != nil {
		*staged = *r
		return true, nil
	}
	b.staged[c.Ref] = r
	b.records = append(b.records, r)
	return true, nil
}

// commit stores a batch, makes it visible, and compacts the log. It is called with mu held.
func (i *Index) commit(b *batch) error {
	values := make([][]byte, 0, len(b.records)+1)
	for _, r := range b.records {
		if !r.Deleted {
			r.words = i.tenants.create(r.Tenant).lexical.Analyze(lexicalTexts(r.doc, r.Provider), extra(r))
			r.rows.add(&r.vectors)
		}
		value, err := r.encode()
		if err != nil {
			return stream.Permanent(ReasonBadChange, err)
		}
		values = append(values, value)
		if old := i.tenants.entity(r.Ref); old != nil && !old.deleted() {
			b.state.Entities--
		}
		if !r.Deleted {
			b.state.Entities++
		}
	}
	last, err := encode(typeState, b.state)
	if err != nil {
		return err
	}
	places, err := i.records.log.Append(append(values, last))
	if err != nil {
		return fmt.Errorf("flat: write: %w", err)
	}
	i.records.setState(places[len(places)-1])
	touched, replaced := map[*tenant][]change{}, make([]*entity, len(b.records))
	for n, r := range b.records {
		t := i.tenants.create(r.Tenant)
		old, e := t.entity(r.Kind, r.ID), newEntity(&r.meta, r.body, places[n])
		replaced[n] = old
		if old != nil {
			old.place.Load().Discard()
		}
		touched[t] = append(touched[t], t.allocateSlot(e, old, r))
		result := changeUpserted
		if r.Deleted {
			result = changeDeleted
			i.tombstones = append(i.tombstones, e)
		}
		i.metrics.changes.WithLabelValues(result).Inc()
	}
	for t, changes := range touched {
		if err := t.publish(changes, b.state.Dimensions); err != nil {
			i.config.Logger.Error("entities cannot be found by their words", "error", err)
		}
	}
	i.state.Store(b.state)
	i.watcher.tell(replaced, b.records, i.tenants)
	if err := i.records.log.Compact(i.records.isCurrent, i.records.moved); err != nil {
		i.config.Logger.Warn("the index on disk could not be compacted", "error", err)
	}
	return nil
}

// Expire forgets tombstones whose grace time is over. It is for a reader that has
// reached the end that the topic had when the reader began: before, another partition may still
// deliver a change that a tombstone keeps out. A restart remembers them until the next call.
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
		if i.tenants.entity(e.ref) == e { // it has not come back since
			i.tenants.find(e.ref.Tenant).forget(e)
			e.place.Load().Discard()
		}
		return true
	})
	return nil
}

// maintenanceInterval is how long a tenant has no changes before its lexical scores, which
// changes make inexact, are made exact: answers then depend on the indexed documents alone, not
// on their batches.
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
		for _, t := range i.tenants.all() {
			if !t.changed {
				t.rebuild()
			}
			t.changed = false
		}
		i.mu.Unlock()
	}
}

// Settled reports whether every lexical score is exact: right after a change
// some are not, until the background has come to it.
func (i *Index) Settled() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, t := range i.tenants.all() {
		if !t.lexical.Exact() {
			return false
		}
	}
	return true
}
