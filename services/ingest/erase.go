package ingest

import (
	"context"

	"github.com/toolstream/toolstream/pkg/events"
)

// Erase forgets what was accepted of a tenant up to a revision, events.MaxRevision while the
// tenant is being erased: the same documents are new when they come again. Revisions that
// are given out later lie above.
func (s *Service) Erase(tenant string, through uint64) {
	if through < events.MaxRevision {
		s.clock.Observe(through)
	}
	s.table.erase(tenant, through)
	s.counter.Forget(tenant)
	s.outdated.forget(tenant)
}

// Entities counts the tools and providers of each tenant.
func (s *Service) Entities(ctx context.Context) (map[string]int, error) {
	if err := s.awaitLoaded(ctx); err != nil {
		return nil, err
	}
	return s.table.count(), nil
}

// Newest reports whether a revision is that of the newest record of a key.
func (s *Service) Newest(key string, revision uint64) bool {
	known, there, _ := s.table.get(key)
	return there && known.Revision == revision
}
