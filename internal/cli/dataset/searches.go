package dataset

import (
	"cmp"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Recorded is a search that was answered.
type Recorded struct {
	schema.Impression
	Feedback []schema.Feedback // on its results, in the order of the file
}

// ofTenant is an id that is unique within a tenant.
type ofTenant struct{ tenant, id string }

// within returns an id with its tenant; an empty tenant is the default tenant.
func within(of, id string) ofTenant { return ofTenant{cmp.Or(of, identity.DefaultTenant), id} }

// Searches reads the recorded searches, in the order of the file, with their feedback. A
// search that a topic holds twice, because it was sent again, counts once.
func (s *Set) Searches() ([]Recorded, error) {
	feedback, err := s.feedback()
	if err != nil {
		return nil, err
	}
	seen := map[ofTenant]bool{}
	var out []Recorded
	for rec, err := range records[schema.Impression](s, searchesFile) {
		if err != nil {
			return nil, err
		}
		i := rec.value
		if i.SearchID == "" {
			return nil, rec.errorf("search without an id")
		}
		key := within(i.Tenant, i.SearchID)
		if !seen[key] {
			out = append(out, Recorded{Impression: i, Feedback: feedback[key]})
		}
		seen[key] = true
	}
	return out, nil
}

// feedback reads the feedback on results, by search.
func (s *Set) feedback() (map[ofTenant][]schema.Feedback, error) {
	bySearch := map[ofTenant][]schema.Feedback{}
	seen := map[ofTenant]bool{}
	for rec, err := range records[schema.Feedback](s, feedbackFile) {
		if err != nil {
			return nil, err
		}
		f := rec.value
		if err := f.Validate(); err != nil {
			return nil, rec.errorf("feedback: %w", err)
		}
		event, search := within(f.Tenant, f.Identity()), within(f.Tenant, f.SearchID)
		if !seen[event] {
			bySearch[search] = append(bySearch[search], f)
		}
		seen[event] = true
	}
	return bySearch, nil
}
