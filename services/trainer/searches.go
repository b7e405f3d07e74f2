package trainer

import (
	"cmp"
	"slices"
	"time"
)

// RecordedSearch is a search that waits for feedback.
type RecordedSearch struct {
	ID      string    `json:"search_id" doc:"Id of the search, as in its answer."`
	Time    time.Time `json:"time"`
	Query   string    `json:"query" doc:"Words of the search, cut at 1,000 bytes; empty if it had only needs or steps."`
	Results []string  `json:"results" doc:"Ids that it showed, best first, at most ten."`
	Used    []string  `json:"used" doc:"Ids that were selected or called and did not fail, as far as feedback says."`
}

// shownResults is how many results of a search are listed.
const shownResults = 10

// Searches returns the newest searches of a tenant that wait for feedback, newest first, at
// most limit.
func (s *Service) Searches(tenant string, limit int) ([]RecordedSearch, error) {
	out := []RecordedSearch{}
	var unreadable error
	err := s.state.view(func(m *memory) {
		if m.searches.tenants[tenant] == nil {
			return
		}
		all := m.searches.tenants[tenant].all
		for _, stored := range slices.Backward(all[max(0, len(all)-limit):]) {
			_, _, id := splitKey(stored.key)
			rec, err := m.search(tenant, id)
			if err != nil {
				unreadable = err
				return
			}
			if rec != nil {
				out = append(out, rec.recorded(m.tenants[tenant]))
			}
		}
	})
	slices.SortStableFunc(out, func(a, b RecordedSearch) int { return cmp.Compare(b.Time.UnixNano(), a.Time.UnixNano()) })
	return out, cmp.Or(err, unreadable)
}

// recorded returns a search for the list, without uses that were taken back. The tenant's
// state is nil if it has no feedback.
func (r *searchRecord) recorded(t *tenantState) RecordedSearch {
	out := RecordedSearch{ID: r.id, Time: r.at, Query: r.Query, Results: []string{}, Used: []string{}}
	seen := r.seen()
	for _, shown := range r.Shown[:min(len(r.Shown), shownResults)] {
		out.Results = append(out.Results, shown.ID)
	}
	if t != nil && t.takenBack(r.reporter, r.at) {
		return out
	}
	for _, at := range seen.Used {
		if !slices.Contains(seen.Rejected, at) {
			out.Used = append(out.Used, seen.Shown[at].ID)
		}
	}
	return out
}
