package flat

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/toolstream/toolstream/internal/lexical"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// ErrClosed is what calls fail with after Close.
var ErrClosed = errors.New("flat: the index is closed")

// Index is an open index. All methods may be called concurrently; changes are
// applied one call at a time, and searches wait for none of them.
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

	program uint32       // what program returned
	saving  sync.Mutex   // held while the memory is saved
	unsaved atomic.Int64 // changes since it was saved last
	upkeep  *upkeep
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

// Close waits for a running Apply and for running searches and closes the
// files. What is called later fails. Closing twice is harmless.
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
	return errors.Join(i.save(1), i.store.close())
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
	return i.commit(tx)
}

// Expire forgets tombstones whose grace time is over, some at each call. It is for
// a reader that has read to where the topic ended when it began: before, what a
// tombstone keeps out may still be to come from another partition.
func (i *Index) Expire() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return ErrClosed
	}
	if err := i.settle(); err != nil {
		return err
	}
	tx := &transaction{state: i.state.Load().clone()}
	i.expire(tx)
	if len(tx.expired) == 0 {
		i.graves = i.graves[tx.buried:]
		return nil
	}
	i.encode(tx)
	return i.commit(tx)
}

// commit stores a transaction and makes it visible.
func (i *Index) commit(tx *transaction) error {
	if err := i.pin(tx); err != nil {
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

// publish makes a written transaction visible.
func (i *Index) publish(tx *transaction) {
	touched := map[*tenant]bool{}
	i.graves = i.graves[tx.buried:]
	for _, s := range tx.order {
		t := i.find(s.ref.Tenant)
		if err := t.put(s); err != nil {
			i.config.Logger.Error("an entity can not be found by its words", "id", s.ref.ID, "error", err)
		}
		touched[t] = true
		i.metrics.changes.WithLabelValues(changeOf(s.record)).Inc()
		if s.deleted {
			i.bury(grave{ref: s.ref, version: s.version, accepted: s.accepted})
		}
	}
	for _, ref := range tx.expired {
		i.find(ref.Tenant).entries.forget(name{ref.Kind, ref.ID})
	}
	for t := range touched {
		i.upkeep.retire(t.publish(tx.state.dimensions))
		i.mergeWhenDue(t)
	}
	i.unsaved.Add(int64(len(tx.order)))
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

// shown returns an entity as searches see it, nil if they do not.
func (i *Index) shown(ref schema.Ref) *tool {
	e := i.entry(ref)
	if e == nil || e.slot == noSlot {
		return nil
	}
	return i.find(ref.Tenant).now.Load().at(e.slot)
}
