package dataset

import "github.com/toolstream/toolstream/pkg/schema"

// Searches reads the recorded searches, in the order of the file.
func (s *Set) Searches() ([]schema.Impression, error) {
	return collect(s, searchesFile, func(rec record[schema.Impression]) (schema.Impression, error) {
		if rec.value.SearchID == "" {
			return rec.value, rec.errorf("search without an id")
		}
		return rec.value, nil
	})
}

// Feedback reads what was done with the results of the recorded searches, by
// the id of the search. An event of an id that came before is not repeated.
func (s *Set) Feedback() (map[string][]schema.Feedback, error) {
	bySearch := map[string][]schema.Feedback{}
	seen := map[string]bool{}
	_, err := collect(s, feedbackFile, func(rec record[schema.Feedback]) (schema.Feedback, error) {
		f := rec.value
		if err := f.Validate(); err != nil {
			return f, rec.errorf("feedback: %w", err)
		}
		if !seen[f.Identity()] {
			seen[f.Identity()] = true
			bySearch[f.SearchID] = append(bySearch[f.SearchID], f)
		}
		return f, nil
	})
	return bySearch, err
}
