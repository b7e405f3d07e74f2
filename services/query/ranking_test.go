package query

import (
	"errors"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/events"
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

func TestRankOrdersAsSearchDoes(t *testing.T) {
	b := newBench(t, tool("a", "mail", 1), tool("c", "mail", 3), tool("b", "chat", 3), tool("d", "", 2))
	m := builtin(t)
	for _, rank := range []schema.Rank{schema.RankTools, schema.RankAgents} {
		req := schema.SearchRequest{Query: "send a message", Rank: rank}
		shown := b.search(t, req)
		found, err := b.Candidates(t.Context(), testTenant, req, &m, 50)
		if err != nil {
			t.Fatal(err)
		}
		places := RankSteps([][]index.Candidate{found}, rank, &m, ranking.Known{})
		if len(places) != len(shown.Results) || len(places) == 0 {
			t.Fatalf("%s: %d places, %d results", rank, len(places), len(shown.Results))
		}
		for i, p := range places {
			if r := shown.Results[i]; p.ID != r.ID || p.Score != r.Score {
				t.Errorf("%s: place %d is %+v, the search shows %s %v", rank, i, p, r.ID, r.Score)
			}
		}
	}
}

func TestCandidatesAsksAsDeepAsWanted(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	m := builtin(t)
	m.Version = "mine"
	if _, err := b.Candidates(t.Context(), testTenant, schema.SearchRequest{Query: "q"}, &m, 4321); err != nil {
		t.Fatal(err)
	}
	if l := b.index.last(); l.N != 4321 || l.Model.Version != "mine" || !slices.Equal(l.Kinds, []schema.Kind{schema.KindTool}) {
		t.Errorf("asked for %d of %v by %s", l.N, l.Kinds, l.Model.Version)
	}
	if n := len(b.bus.Published(events.Searches)); n != 0 {
		t.Errorf("%d impressions are recorded", n)
	}
}

func TestCandidatesFailsWhereSearchWouldDegrade(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	b.embedder.err = errors.New("out of order")
	m := builtin(t)
	if _, err := b.Candidates(t.Context(), testTenant, schema.SearchRequest{Query: "q"}, &m, 1); err == nil {
		t.Error("candidates without vectors")
	}
	var invalid *schema.Invalid
	if _, err := b.Candidates(t.Context(), testTenant, schema.SearchRequest{}, &m, 1); !errors.As(err, &invalid) {
		t.Errorf("an empty query: %v", err)
	}
}

func TestRankByUsage(t *testing.T) {
	m := fusion.Model{Features: fusion.Features{fusion.QueryLexicalFlat: 1, fusion.UsagePrior: 1, fusion.UsageCoUse: 10}}
	found := []index.Candidate{tool("a", "", 3), tool("b", "", 2), tool("c", "", 1)}
	used := &schema.Usage{
		Prior: map[string]float64{"b": 5},
		CoUse: map[string]map[string]float64{"b": {"c": 5}, "c": {"b": 5}},
	}
	var got []string
	for _, p := range RankSteps([][]index.Candidate{found}, schema.RankTools, &m, ranking.Known{Uses: Used(used)(nil)}) {
		got = append(got, p.ID)
	}
	if want := []string{"b", "c", "a"}; !slices.Equal(got, want) {
		t.Errorf("ranked %v, want %v", got, want)
	}
}
