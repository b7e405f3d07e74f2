package query

import (
	"errors"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

func builtin() fusion.Model { return must(fusion.ModelOf(fusion.Builtin())) }

// What evaluation retrieves and ranks is what a search shows.
func TestRetrievedCandidatesRankAsInASearch(t *testing.T) {
	b := newBench(t, tool("a", "mail", 1), tool("c", "mail", 3), tool("b", "chat", 3), tool("d", "", 2))
	m := builtin()
	for _, rank := range []schema.Rank{schema.RankTools, schema.RankProviders, schema.RankAuto} {
		req := schema.SearchRequest{Query: "send a message", Rank: rank}
		shown := b.search(t, req)
		found := check.Value(b.Retrieve(t.Context(), testTenant, req, &m, 50))(t)
		first := ""
		if found.Chosen != nil && found.Rank == schema.RankProviders {
			first = found.Chosen.Provider
		}
		var rankings [][]ranking.Ranked
		for _, step := range found.Steps {
			rankings = append(rankings, ranking.Rank(step.Candidates, &m, step.Signals))
		}
		hits := ranking.Hits(rankings, found.Rank, first)
		if len(hits) != len(shown.Results) || len(hits) == 0 {
			t.Fatalf("%s: %d hits, %d results", rank, len(hits), len(shown.Results))
		}
		for i, h := range hits {
			if r := shown.Results[i]; h.ID != r.ID || h.By.Score != r.Score {
				t.Errorf("%s: place %d is %+v, the search shows %s %v", rank, i, h, r.ID, r.Score)
			}
		}
	}
}

func TestRetrieveFailsWhereSearchWouldDegrade(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	b.embedder.err = errors.New("out of order")
	m := builtin()
	for _, rank := range []schema.Rank{schema.RankTools, schema.RankAuto} {
		if _, err := b.Retrieve(t.Context(), testTenant, schema.SearchRequest{Query: "q", Rank: rank}, &m, 1); err == nil {
			t.Errorf("%s: candidates without vectors", rank)
		}
	}
	var invalid *schema.Invalid
	if _, err := b.Retrieve(t.Context(), testTenant, schema.SearchRequest{}, &m, 1); !errors.As(err, &invalid) {
		t.Errorf("an empty query: %v", err)
	}
}
