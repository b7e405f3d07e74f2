package flat

import (
	"context"
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/internal/bus/segmentlog"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// eraseBatch is how many entities one batch deletes.
const eraseBatch = 1000

// Erase forgets all entities of a tenant up to a revision, deleted ones included, and
// rewrites the files without them. No change up to that revision may be applied
// afterwards: nothing remembers the versions. Calling it again is harmless, and completes
// an erasure that an error or a crash interrupted.
func (i *Index) Erase(ctx context.Context, tenant string, through uint64) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.ready(ctx); err != nil {
		return err
	}
	t := i.tenants.find(tenant)
	if t == nil {
		return nil
	}
	var gone []*entity
	for _, e := range t.known() {
		if e.version.Revision <= through {
			gone = append(gone, e)
		}
	}
	// The log counts live entities: they are deleted in whole batches before they are removed.
	for some := range slices.Chunk(gone, eraseBatch) {
		b := &batch{state: i.state.Load().clone(), staged: map[schema.Ref]*record{}}
		for _, e := range some {
			if e.deleted() {
				continue
			}
			r, err := newRecord(&events.Change{Ref: e.ref, Version: e.version, Op: events.OpDelete, Accepted: e.accepted})
			if err != nil {
				return fmt.Errorf("flat: erase: %w", err)
			}
			b.records = append(b.records, r)
		}
		if len(b.records) == 0 {
			continue
		}
		if err := i.commit(b); err != nil {
			return fmt.Errorf("flat: erase: %w", err)
		}
	}
	erased := map[schema.Ref]bool{}
	for _, e := range gone {
		erased[e.ref] = true
		now := t.entity(e.ref.Kind, e.ref.ID)
		t.forget(now)
		now.place.Load().Discard()
	}
	i.tombstones = slices.DeleteFunc(i.tombstones, func(e *entity) bool { return erased[e.ref] })
	if len(t.known()) == 0 {
		i.tenants.byName.Delete(tenant)
	}
	err := i.records.log.Scrub(func(p segmentlog.Place, b []byte, oldest bool) bool {
		var m meta
		if b[0] == typeEntity {
			if _, err := decodeMeta(b, &m); err == nil && m.Tenant == tenant && m.Version.Revision <= through {
				return false
			}
		}
		return i.records.isCurrent(p, b, oldest)
	}, i.records.moved)
	if err != nil {
		return fmt.Errorf("flat: erase: %w", err)
	}
	return nil
}
