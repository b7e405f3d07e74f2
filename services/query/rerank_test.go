package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/index"
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
	if _, err := reranking(t, "", shops()...).Search(context.Background(), testTenant, schema.SearchRequest{Query: "q", Rerank: "both"}); err == nil {
		t.Error("taken: rerank both")
	}
}

func TestReorderAuto(t *testing.T) {
	b := reranking(t, schema.RerankAuto,
		tool("bank.transfer", "bank", 100), tool("post.track", "post", 95), tool("bank.balance", "bank", 69), tool("bank.limits", "bank", 68), tool("bank.rates", "bank", 67))
	resp := b.search(t, schema.SearchRequest{Explain: true})
	if got := ids(resp); resp.Reranked != schema.RerankSingle || got[4] != "post.track" {
		t.Errorf("%v, reranked %q", got, resp.Reranked)
	}
	move := resp.Results[4].Explanation.Reranking
	if move == nil || move.From != 2 || move.To != 5 || move.Why != string(rerank.OtherOwner) || move.Single < 0.7 || move.Single > 1 || move.Calibrated <= 0 {
		t.Errorf("%+v", move)
	}
	b = reranking(t, schema.RerankAuto, tool("bank.transfer", "bank", 100), tool("post.track", "post", 98),
		tool("rail.times", "rail", 96), tool("maps.way", "maps", 94), tool("bank.balance", "bank", 50))
	resp = b.search(t, schema.SearchRequest{Explain: true})
	if got := ids(resp); resp.Reranked != "" || got[4] != "bank.balance" {
		t.Errorf("undecided: %v, reranked %q", got, resp.Reranked)
	}
	if move := resp.Results[0].Explanation.Reranking; move == nil || move.Algorithm != schema.RerankOff || move.From != move.To || move.Single == 0 {
		t.Errorf("undecided: %+v", move)
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
}

// A tool that was used takes part to the tenth place only, and what it is
// behind does not give way to it.
func TestSeenToolsAreReorderedLess(t *testing.T) {
	var candidates []index.Candidate
	for i := range 12 {
		candidates = append(candidates, tool(fmt.Sprintf("t%02d", i), fmt.Sprintf("owner %d", i), float64(100-4*i)))
	}
	candidates = append(candidates, tool("late", "owner 0", 40))
	b := reranking(t, schema.RerankSingle, candidates...)
	place := func() int { return slices.Index(ids(b.search(t, schema.SearchRequest{K: 13})), "late") }
	if got := place(); got > 2 {
		t.Errorf("unseen at %d", got)
	}
	b.start(t)
	b.watcher.put(t, usagePrefix+testTenant, schema.Usage{Schema: schema.UsageSchema, Tenant: testTenant, Epoch: 1, Prior: map[string]float64{"t00": 1}})
	if got := place(); got != 12 {
		t.Errorf("seen at %d", got)
	}
}

func TestACatalogueThatFailsReordersNothing(t *testing.T) {
	b := reranking(t, schema.RerankSingle, shops()...)
	b.catalogue.err = errors.New("away")
	resp := b.search(t, schema.SearchRequest{})
	if !slices.Contains(resp.Degraded, "rerank") || resp.Reranked != "" || ids(resp)[1] != "post.track" {
		t.Errorf("%+v", resp)
	}
}

// counted counts what is read.
type counted struct {
	*fakeCatalogue
	gets int
}

func (c *counted) Get(ctx context.Context, ref schema.Ref) (schema.Entity, json.RawMessage, bool, error) {
	c.gets++
	return c.fakeCatalogue.Get(ctx, ref)
}

func TestDocumentsAreReadOnceAVersion(t *testing.T) {
	b := reranking(t, schema.RerankSingle, shops()...)
	c := &counted{fakeCatalogue: b.catalogue}
	ref := schema.Ref{Tenant: testTenant, Kind: schema.KindTool, ID: "clock"}
	read := func() rerank.Words {
		words, err := b.words(context.Background(), c, ref)
		if err != nil {
			t.Fatal(err)
		}
		return words
	}
	read()
	if words := read(); c.gets != 1 || !words.Has("clock") {
		t.Errorf("read %d times: %v", c.gets, words)
	}
	e := c.entities[ref]
	e.Revision, e.Document.Name = 99, "sundial"
	c.entities[ref] = e
	if words := read(); c.gets != 2 || !words.Has("sundial") {
		t.Errorf("a new version: read %d times: %v", c.gets, words)
	}
}

func TestWordsOfNeedsAndDocuments(t *testing.T) {
	needs := NeedWords(schema.SearchRequest{Query: "ignored", Needs: []schema.Need{
		{UserIntent: "I want to book ferries"}, {ToolDescription: "tides of a port"},
	}})
	if len(needs) != 2 {
		t.Fatalf("%d needs", len(needs))
	}
	doc := DocumentWords(&schema.Document{Name: "bookFerry", Description: "Sells tickets in the port."})
	for i, want := range [][]string{{"book", "ferri"}, {"port", "tide"}} {
		if !slices.Equal(needs[i], rerank.WordsOf(want)) {
			t.Errorf("need %d is not %q", i, want)
		}
	}
	for _, w := range []string{"book", "ferri", "ticket", "port"} {
		if !doc.Has(w) {
			t.Errorf("%q is missing in %v", w, doc)
		}
	}
	if doc.Has("the") || doc.Has("in") {
		t.Errorf("stop words in %v", doc)
	}
}
