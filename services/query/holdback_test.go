package query

import (
	"slices"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/search"
)

// holding is a bench with the tool of most words held back.
func holding(t *testing.T, held search.HoldBack) *bench {
	b := newBench(t, tool("loud", "", 9), tool("a", "", 3), tool("b", "", 2))
	b.index.flags = map[string][]string{"loud": {"loud"}}
	b.edit(b.index.found[0].Ref, func(d *schema.Document) { d.Flags = []string{"loud"} })
	b.model = "m"
	b.build(t, Config{HoldBack: held})
	return b
}

func TestHeldBackToolsRankBehindAllOthers(t *testing.T) {
	b := holding(t, search.HoldBack{"": {"loud"}})
	got := b.search(t, schema.SearchRequest{K: 3, Explain: true})
	if !slices.Equal(ids(got), []string{"a", "b", "loud"}) {
		t.Fatalf("got %v", ids(got))
	}
	last := got.Results[2]
	if last.HeldBack != "loud" || last.Confidence != 0 || last.Explanation.Summary[0] != "held back behind all others: flagged loud" {
		t.Errorf("held back %q, %q", last.HeldBack, last.Explanation.Summary)
	}
	if got.Results[0].HeldBack != "" {
		t.Errorf("the first is held back for %q", got.Results[0].HeldBack)
	}
	if got := b.search(t, schema.SearchRequest{K: 2}); !slices.Equal(ids(got), []string{"a", "b"}) {
		t.Errorf("where there is no room, got %v", ids(got))
	}
	if got := b.search(t, schema.SearchRequest{Exclude: []string{"loud"}}); !slices.Equal(ids(got), []string{"a", "b"}) {
		t.Errorf("excluded, got %v", ids(got))
	}
	if got := ids(holding(t, search.HoldBack{"": {"loud"}, testTenant: {}}).search(t, schema.SearchRequest{})); got[0] != "loud" {
		t.Errorf("in a tenant that holds nothing back, got %v", got)
	}
}

// Agents who used a tool know what it is.
func TestUsedToolsAreNotHeldBack(t *testing.T) {
	b := holding(t, search.HoldBack{"": {"loud"}})
	b.start(t)
	b.weigh(t, 1, bySimilar)
	if got := ids(b.search(t, schema.SearchRequest{K: 2})); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("before it is used, got %v", got)
	}
	b.learn(t, "usage.default", askedFor(map[string]schema.Direction{"loud": {127, 64}}))
	got := b.search(t, schema.SearchRequest{K: 2})
	if ids(got)[0] != "loud" || got.Results[0].HeldBack != "" {
		t.Errorf("got %v, held back for %q", ids(got), got.Results[0].HeldBack)
	}
}
