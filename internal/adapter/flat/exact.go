package flat

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/toolstream/toolstream/pkg/events"
)

// The exact vectors are read where they lie, in the mapped file: a search
// needs those of a few hundred entities, so memory holds the quantised ones
// alone.
//
// The file may be ahead of the snapshot that a search reads. Before a
// transaction replaces a record, the vectors of the entity that readers still
// see are pinned to it, so they are there either way.

// reader reads exact vectors in one look at the file. It is for one goroutine.
type reader struct {
	entities *bolt.Bucket
	key      []byte
	memory   []float32
	found    events.Vectors
}

// read calls fn with a reader of the file as it is now.
func (s *store) read(fn func(*reader) error) error {
	err := s.db.View(func(tx *bolt.Tx) error { return fn(&reader{entities: tx.Bucket(entityBucket)}) })
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}

// vectors returns the vectors of an entity, valid until the next call.
func (r *reader) vectors(t *tool) (*events.Vectors, error) {
	if pinned := t.pinned.Load(); pinned != nil {
		return pinned, nil
	}
	r.key = append(append(r.key[:0], prefix(t.ref.Tenant, t.ref.Kind)...), t.ref.ID...)
	b := r.entities.Get(r.key)
	if len(b) != t.record.size || crcOf(b) != t.record.crc {
		if pinned := t.pinned.Load(); pinned != nil {
			return pinned, nil
		}
		return nil, fmt.Errorf("flat: the record of %q is not what was stored", t.ref.ID)
	}
	r.found = events.Vectors{Dimensions: t.record.dimensions, Examples: r.found.Examples[:0], Parameters: r.found.Parameters[:0]}
	spread(&r.found, &t.record.counts, floats(&r.memory, t.record.of(b)))
	return &r.found, nil
}

// pin keeps the vectors of the entities that a transaction replaces.
func (i *Index) pin(tx *transaction) error {
	return i.store.read(func(r *reader) error {
		for _, s := range tx.order {
			t := i.shown(s.ref)
			if t == nil || t.pinned.Load() != nil {
				continue
			}
			r.memory, r.found = nil, events.Vectors{} // it keeps them
			v, err := r.vectors(t)
			if err != nil {
				return err
			}
			kept := *v
			t.pinned.Store(&kept)
		}
		return nil
	})
}
