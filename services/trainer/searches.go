package trainer

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/audit"
	"github.com/toolstream/toolstream/internal/identity"
)

// RecordedSearch is a search that waits for feedback.
type RecordedSearch struct {
	ID      string    `json:"search_id" doc:"As its answer had it."`
	Time    time.Time `json:"time"`
	Query   string    `json:"query" doc:"Its words, cut at 1,000 bytes; empty where there were needs or steps alone."`
	Results []string  `json:"results" doc:"Ids that it showed, best first, at most ten."`
	Used    []string  `json:"used" doc:"Ids that were selected or called and did not fail, as far as feedback says."`
}

// shownResults is how many results of a search are listed.
const shownResults = 10

type (
	recordedInput struct {
		Limit int `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many, the newest first."`
	}
	recordedOutput struct{ Body recordedSearches }
)

type recordedSearches struct {
	Searches []RecordedSearch `json:"searches" doc:"Newest first."`
}

func searchRoutes(api huma.API, s *Service) {
	huma.Register(api, huma.Operation{
		OperationID: "list-searches", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/searches",
		Summary:     "List the searches that wait for feedback",
		Description: "Those of the last 24 hours that showed something and that the trainer has read, all of the tenant, whoever searched. They are what people wrote: the audit log has who read them.",
		Tags:        []string{"quality"}, Errors: []int{422, 503}, Metadata: audit.Recorded(),
	}, func(ctx context.Context, in *recordedInput) (*recordedOutput, error) {
		out, err := s.Searches(identity.From(ctx).Tenant, in.Limit)
		if err != nil {
			return nil, problem(err)
		}
		return &recordedOutput{recordedSearches{out}}, nil
	})
}

// Searches returns the newest searches of a tenant that wait for feedback, newest first, at
// most limit.
func (s *Service) Searches(tenant string, limit int) ([]RecordedSearch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.loaded()
	if err != nil {
		return nil, err
	}
	out := []RecordedSearch{}
	if m.searches[tenant] == nil {
		return out, nil
	}
	all := m.searches[tenant].all
	for _, stored := range slices.Backward(all[max(0, len(all)-limit):]) {
		_, _, id := splitKey(stored.key)
		rec, err := m.search(tenant, id)
		if err != nil {
			return nil, err
		}
		if rec != nil {
			out = append(out, rec.recorded(m.tenants[tenant]))
		}
	}
	slices.SortStableFunc(out, func(a, b RecordedSearch) int { return cmp.Compare(b.Time.UnixNano(), a.Time.UnixNano()) })
	return out, nil
}

// recorded returns a search of a tenant, nil for one of which nothing else is known, without
// what was taken back.
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
