package evaluator

import (
	"slices"
	"strings"
	"testing"
)

func reranked(t *testing.T, dir, rerank string) (places [][]string, notes []string) {
	t.Helper()
	run := evaluate(t, dir, func(s *Settings) { s.Rerank = rerank })
	for _, q := range run.PerQuery {
		var ids []string
		for _, place := range q.Ranking {
			ids = append(ids, place.ID)
		}
		places = append(places, ids)
	}
	return places, run.Notes
}

// Taken for a query that one owner answers, the first owner's tools come first;
// nothing is lost or doubled in any way of reranking.
func TestRerank(t *testing.T) {
	dir := writeSet(t, smallSet())
	off, _ := reranked(t, dir, Off)
	single, _ := reranked(t, dir, Single)
	for i, ids := range single {
		mate := map[string]string{"ferry": "tides", "tides": "ferry", "bread": "cake", "cake": "bread"}[ids[0]]
		if ids[0] != off[i][0] || mate != "" && !slices.Contains(ids[1:3], mate) {
			t.Errorf("query %d: %v became %v", i, off[i], ids)
		}
	}
	multi, _ := reranked(t, dir, Multi)
	auto, notes := reranked(t, dir, Auto)
	for _, places := range [][][]string{single, multi, auto} {
		for i, ids := range places {
			sorted, want := slices.Sorted(slices.Values(ids)), slices.Sorted(slices.Values(off[i]))
			if !slices.Equal(sorted, want) {
				t.Errorf("query %d: %v became %v", i, off[i], ids)
			}
		}
	}
	if !strings.Contains(strings.Join(notes, "\n"), "one owner") {
		t.Errorf("nothing is said of how well single queries are told: %q", notes)
	}
}
