package flat

import (
	"fmt"
	"maps"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// transaction is one Apply on its way.
type transaction struct {
	state   state
	records map[schema.Ref]*staged
	order   []*staged // by the first appearance of their refs
	puts    []put
	expired []schema.Ref
	buried  int // graves that are done with
}

// staged is a record that is newer than what is stored.
type staged struct {
	*record
	encoded encoded
}

// prepare checks the changes and encodes what is new about them. It returns
// nil when there is nothing to store.
func (i *Index) prepare(changes []events.Change, through map[int]uint64) (*transaction, error) {
	now := i.state.Load()
	tx := &transaction{state: now.clone(), records: map[schema.Ref]*staged{}}
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
	if len(tx.order) == 0 && maps.Equal(tx.state.positions, now.positions) {
		return nil, nil
	}
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
	s := tx.records[c.Ref]
	switch e := i.entry(c.Ref); {
	case s != nil && !c.Version.Newer(s.version), s == nil && e != nil && !c.Version.Newer(e.version):
		return false, nil // what is not stored does not say of which model the index is
	}
	if err := tx.state.accept(r); err != nil {
		return false, err
	}
	if s != nil {
		s.record = r
		return true, nil
	}
	if _, err := i.tenant(c.Tenant); err != nil {
		return false, err
	}
	s = &staged{record: r}
	tx.records[c.Ref] = s
	tx.order = append(tx.order, s)
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
	tx.state.generation++
	for _, s := range tx.order {
		k := key(s.ref)
		value, encoded := s.encode(k)
		s.encoded = encoded
		tx.puts = append(tx.puts, put{k, value})
		if e := i.entry(s.ref); e != nil {
			tx.state.sum -= uint64(e.crc)
		} else {
			tx.state.records++
		}
		tx.state.sum += uint64(encoded.crc)
	}
	for _, ref := range tx.expired {
		tx.puts = append(tx.puts, put{key: key(ref)})
		tx.state.sum -= uint64(i.entry(ref).crc)
		tx.state.records--
	}
}
