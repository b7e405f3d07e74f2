package flat

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/toolstream/toolstream/internal/lexical"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// ErrClosed is what calls fail with after Close.
var ErrClosed = errors.New("flat: the index is closed")

// Index is an open index. All methods may be called concurrently; changes are
// applied one call at a time.
type Index struct {
	config  Config
	metrics *metrics
	store   *store
	tenants sync.Map // tenant name to *tenant
	state   atomic.Pointer[state]

	// mu serialises writers and guards what follows.
	mu      sync.Mutex
	closed  bool
	doubted *transaction // written with an error: perhaps on disk, perhaps not
	graves  []grave      // tombstones, oldest first

	saving sync.Mutex // guards saved
	saved  uint64     // generation of the lexical index on disk
	upkeep *upkeep
}

// Open opens the index in a folder, or begins a new one, and loads it into
// memory. What can not be trusted is set aside, logged and left for the bus to
// build again; then Positions is empty. ErrInUse says that another process has
// the folder. ctx ends the loading early.
func Open(ctx context.Context, config Config) (*Index, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	i := &Index{config: config}
	if err := i.load(ctx); err != nil {
		return nil, err
	}
	var err error
	if i.metrics, err = newMetrics(config.Registerer, i); err != nil {
		return nil, errors.Join(err, i.store.close())
	}
	i.startUpkeep()
	return i, nil
}

// Close waits for a running Apply and closes the files. Searches that run go
// on in memory; the catalogue fails from then on. Closing twice is harmless.
func (i *Index) Close() error {
	i.mu.Lock()
	closed := i.closed
	i.closed = true
	i.mu.Unlock()
	if closed {
		return nil
	}
	i.upkeep.end() // it takes mu
	i.metrics.unregister()
	return errors.Join(i.saveLexical(), i.store.close())
}

// Positions returns the bus offset up to which changes were applied, by
// partition: those that a restart would find as well.
func (i *Index) Positions() map[int]uint64 { return maps.Clone(i.state.Load().positions) }

// Model returns the name and dimensions of the model that all vectors come
// from, empty as long as there are none.
func (i *Index) Model() (name string, dimensions int) {
	s := i.state.Load()
	return s.model, s.dimensions
}

// Apply stores the changes that are newer than what is there, with the
// positions, in one transaction; when it returns nil, they are durable and
// every search that begins sees them. A change that can never be applied fails
// the call with a permanent error before anything is stored. After any other
// error the same call may be repeated.
func (i *Index) Apply(ctx context.Context, changes []events.Change, through map[int]uint64) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	defer i.metrics.applying()()
	if err := i.settle(); err != nil {
		return err
	}
	tx, err := i.prepare(changes, through)
	if err != nil || tx == nil {
		return err
	}
	if err := i.store.write(tx.puts, &tx.state); err != nil {
		i.doubted = tx
		return err
	}
	i.publish(tx)
	return nil
}

// settle finds out what became of a write that failed. The file decides: a
// transaction that reached it is published, any other is forgotten.
func (i *Index) settle() error {
	if i.doubted == nil {
		return nil
	}
	generation, err := i.store.generation()
	if err != nil {
		return fmt.Errorf("flat: after a failed write: %w", err)
	}
	tx := i.doubted
	i.doubted = nil
	if generation == tx.state.generation {
		i.publish(tx)
	}
	return nil
}

// transaction is one Apply on its way.
type transaction struct {
	state   state
	records map[schema.Ref]staged
	order   []schema.Ref // of first appearance
	puts    []put
	expired []schema.Ref
	buried  int // graves that are done with
}

// staged is a record and its checksum.
type staged struct {
	*record
	crc uint32
}

// prepare checks the changes and encodes what is new about them. It returns
// nil when there is nothing to store.
func (i *Index) prepare(changes []events.Change, through map[int]uint64) (*transaction, error) {
	now := i.state.Load()
	tx := &transaction{state: now.clone(), records: map[schema.Ref]staged{}}
	stale := 0
	for at := range changes {
		newer, err := i.stage(tx, &changes[at])
		if err != nil {
			return nil, err
		}
		if !newer {
			stale++
		}
	}
	i.metrics.changes.WithLabelValues(changeStale).Add(float64(stale))
	tx.state.advance(through)
	i.expire(tx)
	if len(tx.order) == 0 && len(tx.expired) == 0 && maps.Equal(tx.state.positions, now.positions) {
		return nil, nil
	}
	tx.state.generation++
	i.encode(tx)
	return tx, nil
}

// stage adds a change to the transaction, if it is newer than what is stored
// and what was staged before it.
func (i *Index) stage(tx *transaction, c *events.Change) (newer bool, err error) {
	r, err := newRecord(c)
	if err != nil {
		return false, err
	}
	if err := tx.state.accept(r); err != nil {
		return false, err
	}
	if _, err := i.tenant(c.Tenant); err != nil {
		return false, err
	}
	known := schema.Version{}
	if s, ok := tx.records[c.Ref]; ok {
		known = s.version
	} else if e := i.entry(c.Ref); e != nil {
		known = e.version
	} else {
		tx.order = append(tx.order, c.Ref)
		tx.records[c.Ref] = staged{record: r}
		return true, nil
	}
	if !c.Version.Newer(known) {
		return false, nil
	}
	if _, ok := tx.records[c.Ref]; !ok {
		tx.order = append(tx.order, c.Ref)
	}
	tx.records[c.Ref] = staged{record: r}
	return true, nil
}

// accept makes sure that all vectors come from one model: those of two do not
// compare.
func (s *state) accept(r *record) error {
	if r.deleted {
		return nil
	}
	if s.model == "" && s.dimensions == 0 {
		s.model, s.dimensions = r.vectors.Model, r.vectors.Dimensions
	}
	if r.vectors.Model != s.model || r.vectors.Dimensions != s.dimensions {
		return stream.Permanent(ReasonModelMismatch, fmt.Errorf("flat: %s was embedded by %s in %d dimensions, the index holds %s in %d",
			r.ref.ID, r.vectors.Model, r.vectors.Dimensions, s.model, s.dimensions))
	}
	return nil
}

// encode makes the bytes of the staged records and sums them up.
func (i *Index) encode(tx *transaction) {
	for _, ref := range tx.order {
		k := key(ref)
		s := tx.records[ref]
		value := s.encode(k)
		s.crc = crcOf(value)
		tx.records[ref] = s
		tx.puts = append(tx.puts, put{k, value})
		if e := i.entry(ref); e != nil {
			tx.state.sum -= uint64(e.crc)
		} else {
			tx.state.records++
		}
		tx.state.sum += uint64(s.crc)
	}
	for _, ref := range tx.expired {
		tx.puts = append(tx.puts, put{key: key(ref)})
		tx.state.sum -= uint64(i.entry(ref).crc)
		tx.state.records--
	}
}

// publish makes a written transaction visible.
func (i *Index) publish(tx *transaction) {
	touched := map[*tenant]bool{}
	applied := map[string]int{}
	i.graves = i.graves[tx.buried:]
	for _, ref := range tx.order {
		s := tx.records[ref]
		t := i.find(ref.Tenant)
		if err := t.put(s); err != nil {
			i.config.Logger.Error("an entity can not be found by its words", "id", ref.ID, "err", err)
		}
		touched[t] = true
		applied[changeOf(s.record)]++
		if s.deleted {
			i.graves = append(i.graves, grave{ref: ref, version: s.version, accepted: s.accepted})
		}
	}
	for _, ref := range tx.expired {
		i.find(ref.Tenant).entries.Delete(name{ref.Kind, ref.ID})
	}
	for t := range touched {
		i.upkeep.retire(t.publish(tx.state.dimensions))
		i.mergeWhenDue(t)
	}
	for result, n := range applied {
		i.metrics.changes.WithLabelValues(result).Add(float64(n))
	}
	i.state.Store(&tx.state)
}

// tenant returns the index of a tenant, a new one if need be. For the writer.
func (i *Index) tenant(name string) (*tenant, error) {
	if t := i.find(name); t != nil {
		return t, nil
	}
	words, err := lexical.New(lexical.Defaults())
	if err != nil {
		return nil, fmt.Errorf("flat: %w", err)
	}
	t := newTenant(words)
	i.tenants.Store(name, t)
	return t, nil
}

// find returns the index of a tenant, nil where there is none.
func (i *Index) find(name string) *tenant {
	t, ok := i.tenants.Load(name)
	if !ok {
		return nil
	}
	return t.(*tenant)
}

func (i *Index) entry(ref schema.Ref) *entry {
	t := i.find(ref.Tenant)
	if t == nil {
		return nil
	}
	return t.entry(ref.Kind, ref.ID)
}
