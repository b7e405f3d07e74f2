package revisions

import (
	"cmp"
	"context"
	"slices"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// History reads the changes that are kept.
type History struct {
	log    Log
	erased func(tenant string) uint64
}

// NewHistory returns a history that hides changes up to the erased revision of their tenant.
func NewHistory(log Log, erased func(tenant string) uint64) *History {
	return &History{log, erased}
}

// Of returns the changes of an entity, oldest first, without duplicates, in whatever order they
// were recorded.
func (h *History) Of(ctx context.Context, ref schema.Ref) ([]events.Change, error) {
	changes, err := read(ctx, h.log, ref)
	if err != nil {
		return nil, err
	}
	through := h.erased(ref.Tenant)
	changes = slices.DeleteFunc(changes, func(c events.Change) bool { return c.Revision <= through })
	slices.SortStableFunc(changes, func(a, b events.Change) int { return cmp.Compare(a.Revision, b.Revision) })
	return slices.CompactFunc(changes, func(a, b events.Change) bool { return a.Revision == b.Revision }), nil
}
