package query

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/schema"
)

func scored(id, owner string, score float64) ranking.Ranked {
	return ranking.Ranked{Candidate: tool(id, owner, score), Score: score}
}

// Worked by hand. Best of all are 10, 4 and 6. The tools of mail reach 10, 3 and
// 3, those of chat 8, 4 and 0; wiki reaches 6 once, and so does a tool that
// nobody owns.
func TestCoverage(t *testing.T) {
	got, tools := choose([][]ranking.Ranked{
		{scored("send", "mail", 10), scored("post", "chat", 8), scored("list", "mail", 7)},
		{scored("join", "chat", 4), scored("sort", "mail", 3)},
		{scored("look", "wiki", 6), scored("orphan", "", 6), scored("find", "mail", 3), scored("spoil", "chat", -1)},
	}, []rewritten{{text: "a"}, {text: "b"}, {text: "c"}})
	want := []schema.Covered{{Need: "a", Tool: "send", Score: 10, Best: 10}, {Need: "b", Tool: "sort", Score: 3, Best: 4}, {Need: "c", Tool: "find", Score: 3, Best: 6}}
	if got.Rank != schema.RankProviders || got.Provider != "mail" || math.Abs(got.Coverage-16./20) > 1e-12 || !slices.Equal(got.Needs, want) ||
		!strings.Contains(got.Why, "mail") || !slices.Equal(tools, []string{"send", "sort", "find"}) {
		t.Errorf("%+v, %v", got, tools)
	}
	described := scored("mail", "", 9) // a provider's own document answers nothing
	described.Kind = schema.KindProvider
	for name, tc := range map[string]struct {
		rankings [][]ranking.Ranked
		provider string
		best     float64 // for the first need
	}{
		"nobody":                {[][]ranking.Ranked{{scored("orphan", "", 6)}, {scored("spoil", "chat", 0)}, nil}, "", 6},
		"a provider's document": {[][]ranking.Ranked{{described, scored("send", "mail", 2), scored("post", "chat", 3)}, {scored("x", "y", 2)}, nil}, "chat", 3},
		"tied":                  {[][]ranking.Ranked{{scored("x", "a", 5)}, {scored("y", "b", 5)}, nil}, "b", 5},
	} {
		got, tools := choose(tc.rankings, make([]rewritten, 3))
		if got.Rank != schema.RankTools || got.Provider != tc.provider || got.Needs[0].Best != tc.best || len(got.Needs) != 3 || tools != nil {
			t.Errorf("%s: %+v, %v", name, got, tools)
		}
	}
}

func TestRankAuto(t *testing.T) {
	b, ix := newTravel(t)
	trip := schema.SearchRequest{Query: "Find me a train to Porto. Then book the right hotel there.", Rank: schema.RankAuto, Explain: true}
	several := b.search(t, trip)
	if c := several.Chosen; c.Rank != schema.RankTools || c.Provider != "inn" || len(c.Needs) != 2 || c.Needs[0].Tool != "" || c.Needs[1].Tool != "reserve" {
		t.Errorf("two providers are needed: %+v", c)
	}
	if c := several.Chosen; c.Coverage >= enoughCovered || several.Results[0].Kind != schema.KindTool {
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
	if c := steps.Chosen; c.Rank != schema.RankProviders || len(b.embedder.calls) != 3 || !slices.Equal(steps.Degraded, []string{degradedVectors}) {
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
