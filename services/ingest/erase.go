package ingest

import (
	"context"

	"github.com/toolstream/toolstream/pkg/events"
)

// Erase forgets the entities of a tenant up to a revision, events.MaxRevision while the tenant
// is being erased: the same documents are new when they come again. Later revisions are
// higher.
func (s *Service) Erase(tenant string, through uint64) {
	if through < events.MaxRevision {
		s.replica.clock.Observe(through)
	}
	s.replica.table.erase(tenant, through)
}

// Entities counts the tools and providers of each tenant.
func (s *Service) Entities(ctx context.Context) (map[string]int, error) {
	if err := s.replica.awaitLoaded(ctx); err != nil {
		return nil, err
	}
	return s.replica.table.count(), nil
}

// Newest reports whether the newest record of a key has the revision.
func (s *Service) Newest(key string, revision uint64) bool {
	known, there, _ := s.replica.table.get(key)
	return there && known.Revision == revision
}
