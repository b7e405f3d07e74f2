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
	c := choose([][]ranking.Ranked{
		{scored("send", "mail", 10), scored("post", "chat", 8), scored("list", "mail", 7)},
		{scored("join", "chat", 4), scored("sort", "mail", 3)},
		{scored("look", "wiki", 6), scored("orphan", "", 6), scored("find", "mail", 3), scored("spoil", "chat", -1)},
	})
	if c.agent != "mail" || math.Abs(c.coverage-16./20) > 1e-12 || !slices.Equal(c.best, []float64{10, 4, 6}) {
		t.Fatalf("%+v", c)
	}
	got := c.explain([]plan{{query: "a"}, {query: "b"}, {query: "c"}}, true)
	want := []schema.Covered{{Need: "a", Tool: "send", Score: 10, Best: 10}, {Need: "b", Tool: "sort", Score: 3, Best: 4}, {Need: "c", Tool: "find", Score: 3, Best: 6}}
	if got.Rank != schema.RankAgents || !slices.Equal(got.Needs, want) || !strings.Contains(got.Why, "mail") {
		t.Errorf("%+v", got)
	}
	nobody := choose([][]ranking.Ranked{{scored("orphan", "", 6)}, {scored("spoil", "chat", 0)}, nil})
	if said := nobody.explain([]plan{{}, {}, {}}, true); said.Rank != schema.RankTools || said.Agent != "" || len(said.Needs) != 3 {
		t.Errorf("nobody: %+v", said)
	}
	described := scored("mail", "", 9) // an agent's own document answers nothing
	described.Kind = schema.KindAgent
	if c := choose([][]ranking.Ranked{{described, scored("send", "mail", 2), scored("post", "chat", 4)}}); c.agent != "chat" || c.best[0] != 4 {
		t.Errorf("an agent's document: %+v", c)
	}
	if tied := choose([][]ranking.Ranked{{scored("x", "a", 5)}, {scored("y", "b", 5)}}); tied.agent != "b" || tied.rank() != schema.RankTools {
		t.Errorf("tied: %+v", tied)
	}
}

func TestRankAuto(t *testing.T) {
	b, ix := newTravel(t)
	trip := schema.SearchRequest{Query: "Find me a train to Porto. Then book the right hotel there.", Rank: schema.RankAuto, Explain: true}
	several := b.search(t, trip)
	if c := several.Chosen; c.Rank != schema.RankTools || c.Agent != "inn" || len(c.Needs) != 2 || c.Needs[0].Tool != "" || c.Needs[1].Tool != "reserve" {
		t.Errorf("two agents are needed: %+v", c)
	}
	if c := several.Chosen; c.Coverage >= enoughCovered || several.Results[0].Kind != schema.KindTool {
		t.Errorf("%+v with %v", c, ids(several))
	}
	one := b.search(t, schema.SearchRequest{Query: "Find a train to Porto. Buy a train ticket.", Rank: schema.RankAuto})
	if c := one.Chosen; c.Needs != nil || c.Rank != schema.RankAgents || c.Agent != "rail" || c.Coverage != 1 || ids(one)[0] != "rail" || one.Results[0].Kind != schema.KindAgent {
		t.Errorf("one agent does for all: %+v, %v", c, ids(one))
	}
	if calls := b.embedder.calls; len(calls) != 2 {
		t.Errorf("%d calls of the embedder for 2 searches", len(calls))
	}
	b.embedder.err = errDown
	steps := b.search(t, schema.SearchRequest{Steps: []string{"a train", "another train"}, Rank: schema.RankAuto})
	if c := steps.Chosen; c.Rank != schema.RankAgents || len(b.embedder.calls) != 3 || !slices.Equal(steps.Degraded, []string{degradedVectors}) {
		t.Errorf("%+v by %d calls, without %v", c, len(b.embedder.calls), steps.Degraded)
	}
	ix.err = errDown
	if _, err := b.Search(t.Context(), testTenant, schema.SearchRequest{Query: "train", Rank: schema.RankAuto}); err == nil {
		t.Error("it chooses without an index")
	}
}

// Of a long text as many parts are looked for as of what somebody says step by step.
func TestRankAutoOfALongTextLooksForAFewParts(t *testing.T) {
	b, ix := newTravel(t)
	resp := b.search(t, schema.SearchRequest{Query: strings.Repeat("find a train to Porto\n", 300), Rank: schema.RankAuto, Explain: true})
	if n := len(resp.Chosen.Needs); n < 2 || n > schema.MaxNeeds || len(ix.asked) > n+1 || len(ix.asked) < n {
		t.Errorf("%d needs, %d lookups", n, len(ix.asked))
	}
}

// The tools for which an agent is chosen are looked at in the end, too, wherever they
// stand for all of the query.
func TestTheToolsOfTheChosenAgentTakePart(t *testing.T) {
	b, ix := newTravel(t)
	b.search(t, schema.SearchRequest{Query: "Find a train to Porto. Buy a train ticket.", Rank: schema.RankAuto})
	if l := ix.asked[len(ix.asked)-1]; !slices.Contains(l.Also, "book") {
		t.Errorf("of the last lookup also %v take part", l.Also)
	}
}

// The agent that covers the needs stands first, whoever has the best tool.
func TestTheAgentThatCoversTheQueryLeads(t *testing.T) {
	chosen := &schema.Chosen{Rank: schema.RankAgents, Agent: "b"}
	picks := []pick{{ref: agent("a", 0).Ref}, {ref: tool("b", "", 0).Ref}, {ref: agent("b", 0).Ref}, {ref: agent("c", 0).Ref}}
	var got []string
	for _, p := range lead(picks, chosen) {
		got = append(got, string(p.ref.Kind)+" "+p.ref.ID)
	}
	if want := []string{"agent b", "agent a", "tool b", "agent c"}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestChooseForEvaluation(t *testing.T) {
	b, _ := newTravel(t)
	m := builtin(t)
	c, err := b.Choose(t.Context(), testTenant, schema.SearchRequest{Query: "Find a train. Buy a train ticket."}, &m)
	if err != nil || c.Rank != schema.RankAgents {
		t.Errorf("%+v, %v", c, err)
	}
	b.embedder.err = errDown
	if _, err := b.Choose(t.Context(), testTenant, schema.SearchRequest{Query: "train"}, &m); err == nil {
		t.Error("it chooses by less than Search would")
	}
}
