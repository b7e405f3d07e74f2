package query

import (
	"errors"
	"testing"

	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

func builtin(t *testing.T) fusion.Model {
	t.Helper()
	m, err := fusion.ModelOf(fusion.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// What evaluation retrieves and ranks is what a search shows.
func TestWhatIsRetrievedRanksAsSearchDoes(t *testing.T) {
	b := newBench(t, tool("a", "mail", 1), tool("c", "mail", 3), tool("b", "chat", 3), tool("d", "", 2))
	m := builtin(t)
	for _, rank := range []schema.Rank{schema.RankTools, schema.RankProviders, schema.RankAuto} {
		req := schema.SearchRequest{Query: "send a message", Rank: rank}
		shown := b.search(t, req)
		found, err := b.Retrieve(t.Context(), testTenant, req, &m, 50)
		if err != nil {
			t.Fatal(err)
		}
		first := ""
		if found.Chosen != nil && found.Rank == schema.RankProviders {
			first = found.Chosen.Provider
		}
		hits := ranking.Hits(rankSteps(found.Steps, &m), found.Rank, first)
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
	m := builtin(t)
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
