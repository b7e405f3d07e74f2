package query

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

func TestRankAuto(t *testing.T) {
	b, ix := newTravel(t)
	trip := schema.SearchRequest{Query: "Find me a train to Porto. Then book the right hotel there.", Rank: schema.RankAuto, Explain: true}
	several := b.search(t, trip)
	if c := several.Chosen; c.Rank != schema.RankTools || c.Provider != "inn" || len(c.Needs) != 2 || c.Needs[0].Tool != "" || c.Needs[1].Tool != "reserve" {
		t.Errorf("two providers are needed: %+v", c)
	}
	if c := several.Chosen; c.Coverage >= 0.75 || several.Results[0].Kind != schema.KindTool {
		t.Errorf("%+v with %v", c, ids(several))
	}
	one := b.search(t, schema.SearchRequest{Query: "Find a train to Porto. Buy a train ticket.", Rank: schema.RankAuto})
	if c := one.Chosen; c.Needs != nil || c.Rank != schema.RankProviders || c.Provider != "rail" || c.Coverage != 1 || ids(one)[0] != "rail" || one.Results[0].Kind != schema.KindProvider {
		t.Errorf("one provider does for all: %+v, %v", c, ids(one))
	}
	if calls := b.embedder.calls; len(calls) != 2 {
		t.Errorf("%d calls of the embedder for 2 searches", len(calls))
	}
	b.embedder.err = errDown
	steps := b.search(t, schema.SearchRequest{Steps: []string{"a train", "another train"}, Rank: schema.RankAuto})
	if c := steps.Chosen; c.Rank != schema.RankProviders || len(b.embedder.calls) != 3 || !slices.Equal(steps.Degraded, []string{"vectors"}) {
		t.Errorf("%+v by %d calls, without %v", c, len(b.embedder.calls), steps.Degraded)
	}
	ix.err = errDown
	if _, err := b.Search(t.Context(), testCaller, schema.SearchRequest{Query: "train", Rank: schema.RankAuto}); err == nil {
		t.Error("it chooses without an index")
	}
}

// Of a long text as many parts are looked for as of what somebody says step by step.
func TestRankAutoOfALongTextLooksForAFewParts(t *testing.T) {
	b, ix := newTravel(t)
	resp := b.search(t, schema.SearchRequest{Query: strings.Repeat("find a train to Porto\n", 300), Rank: schema.RankAuto, Explain: true})
	if n := len(resp.Chosen.Needs); n < 2 || n > schema.MaxNeeds || len(ix.asked) > n+2 || len(ix.asked) < n {
		t.Errorf("%d needs, %d lookups", n, len(ix.asked))
	}
}

// The tools for which a provider is chosen are looked at in the end, too, wherever they
// stand for all of the query.
func TestTheToolsOfTheChosenProviderTakePart(t *testing.T) {
	b, ix := newTravel(t)
	b.search(t, schema.SearchRequest{Query: "Find a train to Porto. Buy a train ticket.", Rank: schema.RankAuto})
	if l := ix.asked[len(ix.asked)-2]; !slices.Contains(l.Also, "book") { // the last one is for what providers say of themselves
		t.Errorf("of the last lookup of tools also %v take part", l.Also)
	}
}
