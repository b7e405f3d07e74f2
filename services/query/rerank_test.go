package query

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// shops is a ranking in which the second tool of the first owner is behind those
// of others.
func shops() []index.Candidate {
	return []index.Candidate{
		tool("bank.transfer", "bank", 100), tool("post.track", "post", 70), tool("rail.times", "rail", 60),
		tool("bank.balance", "bank", 50), tool("clock", "", 10),
	}
}

func reranking(t *testing.T, mode schema.Rerank, candidates ...index.Candidate) *bench {
	b := newBench(t, candidates...)
	b.build(t, Config{Rerank: mode})
	return b
}

func TestReorderByRequest(t *testing.T) {
	plain := []string{"bank.transfer", "post.track", "rail.times", "bank.balance", "clock"}
	single := []string{"bank.transfer", "bank.balance", "post.track", "rail.times", "clock"}
	for _, c := range []struct {
		set, asked schema.Rerank
		want       []string
		says       schema.Rerank
	}{
		{"", "", plain, ""},
		{schema.RerankOff, "", plain, ""},
		{schema.RerankSingle, "", single, schema.RerankSingle},
		{schema.RerankSingle, schema.RerankOff, plain, ""},
		{schema.RerankOff, schema.RerankSingle, single, schema.RerankSingle},
		{schema.RerankOff, schema.RerankMulti, plain, schema.RerankMulti},
	} {
		t.Run(fmt.Sprintf("%s, asked %s", c.set, c.asked), func(t *testing.T) {
			b := reranking(t, c.set, shops()...)
			resp := b.search(t, schema.SearchRequest{Rerank: c.asked})
			if !slices.Equal(ids(resp), c.want) || resp.Reranked != c.says {
				t.Errorf("%v, reranked %q", ids(resp), resp.Reranked)
			}
			if n := b.metric(t, "toolstream_search_reranks_total"); n != 0 != (c.says != "") {
				t.Errorf("%v counted", n)
			}
		})
	}
	if _, err := reranking(t, "", shops()...).Search(context.Background(), testCaller, schema.SearchRequest{Query: "q", Rerank: "both"}); err == nil {
		t.Error("taken: rerank both")
	}
}

// asking is a candidate with what two needs score by themselves.
func asking(c index.Candidate, needs ...float64) index.Candidate {
	c.Needs = needs
	return c
}

func TestReorderAuto(t *testing.T) {
	for name, test := range map[string]struct {
		candidates []index.Candidate
		says       schema.Rerank
		last       string
	}{
		"one owner for all needs": {[]index.Candidate{
			asking(tool("bank.transfer", "bank", 100), 9, 1), asking(tool("post.track", "post", 95), 8, 2), asking(tool("bank.balance", "bank", 80), 1, 8),
		}, schema.RerankSingle, "post.track"},
		"one for each": {[]index.Candidate{
			asking(tool("bank.transfer", "bank", 100), 9, 0), asking(tool("bank.a", "bank", 99), 8, 0), asking(tool("bank.b", "bank", 98), 8, 0),
			asking(tool("bank.c", "bank", 97), 8, 0), asking(tool("post.track", "post", 85), 0, 9),
		}, schema.RerankMulti, "bank.c"},
		"undecided": {[]index.Candidate{
			asking(tool("bank.transfer", "bank", 100), 9, 5.8), asking(tool("post.track", "post", 95), 4, 8), asking(tool("bank.balance", "bank", 60), 1, 1),
		}, "", "bank.balance"},
		"one need": {[]index.Candidate{
			asking(tool("bank.transfer", "bank", 100), 9), asking(tool("post.track", "post", 95), 8), asking(tool("bank.balance", "bank", 60), 1),
		}, "", "bank.balance"},
	} {
		b := reranking(t, schema.RerankAuto, test.candidates...)
		resp := b.search(t, schema.SearchRequest{Explain: true})
		if got := ids(resp); resp.Reranked != test.says || got[len(got)-1] != test.last {
			t.Errorf("%s: %v, reranked %q (%.2f)", name, got, resp.Reranked, resp.Results[0].Explanation.Reranking.Single)
		}
		if move := resp.Results[len(resp.Results)-1].Explanation.Reranking; move == nil || move.Calibrated <= 0 || (test.says == "") != (move.From == move.To) {
			t.Errorf("%s: %+v", name, move)
		}
	}
}

// The extended list is what clear owners have in the library, wherever it was ranked.
func TestTheExtendedListIsOfTheLibrary(t *testing.T) {
	b := reranking(t, schema.RerankSingle, shops()...)
	b.add(tool("bank.loans", "bank", 1), tool("post.label", "post", 1))
	resp := b.search(t, schema.SearchRequest{Explain: true})
	want := []string{"bank.transfer", "bank.balance", "post.track", "rail.times", "bank.loans", "clock"}
	if got := ids(resp); !slices.Equal(got, want) {
		t.Fatalf("%v", got)
	}
	if move := resp.Results[4].Explanation.Reranking; move.Why != string(rerank.Extended) || move.From != 5 {
		t.Errorf("%+v", move)
	}
	b.start(t)
	b.learn(t, "usage.default", schema.Usage{Schema: schema.UsageSchema, Tenant: testTenant, Epoch: 1, Prior: map[string]float64{"bank.balance": 1}})
	if got := ids(b.search(t, schema.SearchRequest{})); slices.Contains(got, "bank.loans") {
		t.Errorf("of a seen owner: %v", got)
	}
}

// Tools that are alike are spread as those of one owner are.
func TestToolsThatAreAlikeAreSpread(t *testing.T) {
	candidates := shops()[:4]
	candidates = append(candidates, tool("train.times", "train", 40), tool("ship.times", "ship", 30), tool("bus.times", "bus", 20), tool("rest", "", 10))
	for i := range candidates {
		if slices.Contains([]string{"rail", "train", "ship", "bus"}, candidates[i].Provider) {
			candidates[i].Vector = []float32{0, 1}
		}
	}
	b := reranking(t, schema.RerankMulti, candidates...)
	if got := ids(b.search(t, schema.SearchRequest{})); got[len(got)-1] != "bus.times" {
		t.Errorf("%v", got)
	}
	if l := b.index.last(); !l.Rerank {
		t.Error("vectors were not asked for")
	}
}

// Owners are ranked by themselves, and where there are none nothing is looked up.
func TestNothingToReorder(t *testing.T) {
	b := reranking(t, schema.RerankSingle, tool("a", "", 3), tool("b", "", 2))
	if resp := b.search(t, schema.SearchRequest{Explain: true}); resp.Reranked != "" || resp.Results[0].Explanation.Reranking != nil {
		t.Errorf("%+v", resp)
	}
	b = reranking(t, schema.RerankSingle, shops()...)
	if resp := b.search(t, schema.SearchRequest{Rank: schema.RankProviders}); resp.Reranked != "" {
		t.Errorf("providers: %+v", resp)
	}
	b = reranking(t, schema.RerankSingle, provider("bank", 100), tool("bank.transfer", "bank", 90))
	if got := ids(b.search(t, schema.SearchRequest{Filters: schema.Filters{Kinds: []schema.Kind{schema.KindProvider}}})); !slices.Equal(got, []string{"bank"}) {
		t.Errorf("providers that are searched for: %v", got)
	}
}

// A tool that was used takes part to the tenth place only, and what it is
// behind does not give way to it.
func TestSeenToolsAreReorderedLess(t *testing.T) {
	var candidates []index.Candidate
	for i := range 12 {
		candidates = append(candidates, tool(fmt.Sprintf("t%02d", i), fmt.Sprintf("owner %d", i), float64(100-2*i)))
	}
	candidates[0].Features[fusion.QueryLexicalFlat] = 110
	candidates = append(candidates, tool("late", "owner 0", 72))
	b := reranking(t, schema.RerankSingle, candidates...)
	place := func() int { return slices.Index(ids(b.search(t, schema.SearchRequest{K: 13})), "late") }
	if got := place(); got > 2 {
		t.Errorf("unseen at %d", got)
	}
	b.start(t)
	b.learn(t, "usage.default", schema.Usage{Schema: schema.UsageSchema, Tenant: testTenant, Epoch: 1, Prior: map[string]float64{"t00": 1}})
	if got := place(); got != 12 {
		t.Errorf("seen at %d", got)
	}
}

// What is not reordered keeps its place: a tool of a used provider is not behind those
// that score less.
func TestUnreorderedToolsKeepTheirPlaces(t *testing.T) {
	var candidates []index.Candidate
	var want []string
	for i := range 20 {
		candidates = append(candidates, asking(tool(fmt.Sprintf("t%02d", i), fmt.Sprintf("owner %d", i), float64(100-4*i)), 1))
		want = append(want, candidates[i].ID)
	}
	b := reranking(t, schema.RerankAuto, candidates...)
	b.start(t)
	b.learn(t, "usage.default", schema.Usage{Schema: schema.UsageSchema, Tenant: testTenant, Epoch: 1, Prior: map[string]float64{"t12": 1}})
	plain := ids(b.search(t, schema.SearchRequest{K: 20, Rerank: schema.RerankOff}))
	if got := ids(b.search(t, schema.SearchRequest{K: 20})); !slices.Equal(got, plain) || len(got) != len(want) {
		t.Errorf("%v, want %v", got, plain)
	}
}
