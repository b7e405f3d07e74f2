package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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

// At most three of an owner stay in front where a query needs several.
func TestReorderSpreads(t *testing.T) {
	b := reranking(t, schema.RerankMulti, tool("a1", "a", 100), tool("a2", "a", 90), tool("a3", "a", 80), tool("a4", "a", 70), tool("b1", "b", 60))
	resp := b.search(t, schema.SearchRequest{Explain: true})
	if got := ids(resp); !slices.Equal(got, []string{"a1", "a2", "a3", "b1", "a4"}) {
		t.Errorf("%v", got)
	}
	move := resp.Results[4].Explanation.Reranking
	if move == nil || move.From != 4 || move.To != 5 || move.Why != string(rerank.Beyond) || move.Algorithm != schema.RerankMulti {
		t.Errorf("%+v", move)
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
	if resp := b.search(t, schema.SearchRequest{Rank: schema.RankAgents}); resp.Reranked != "" {
		t.Errorf("agents: %+v", resp)
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

func TestDocumentsForgetWhatNobodyAsksFor(t *testing.T) {
	d := newDocuments(2)
	ref := func(id string) schema.Ref { return schema.Ref{ID: id} }
	for i := range 9 {
		d.put(ref(fmt.Sprint(i)), schema.Version{Revision: 1}, nil)
		if _, ok := d.get(ref("0"), schema.Version{Revision: 1}); !ok {
			t.Fatalf("what is asked for is gone after %d", i)
		}
	}
	if n := len(d.young) + len(d.old); n > 4 {
		t.Errorf("%d kept", n)
	}
	if _, ok := d.get(ref("3"), schema.Version{Revision: 1}); ok {
		t.Error("what nobody asked for is there")
	}
}

func TestBoundsOfReranking(t *testing.T) {
	good := rerank.DefaultConfig()
	for name, change := range map[string]func(*rerank.Config){
		"share":    func(c *rerank.Config) { c.Clear = 1.1 },
		"NaN":      func(c *rerank.Config) { c.Alike = math.NaN() },
		"negative": func(c *rerank.Config) { c.PerComponent = -1 },
		"crossed":  func(c *rerank.Config) { c.MultiTo = c.SingleFrom },
	} {
		bad := good
		change(&bad)
		if err := (Config{Reranking: bad}).validate(); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := (Config{Reranking: good, Rerank: "both"}).validate(); err == nil {
		t.Error("taken: rerank both")
	}
}

// BenchmarkReorder is what a search takes by the way of reranking; the documents
// are in memory, and so are their words but for the first search.
func BenchmarkReorder(b *testing.B) {
	var candidates []index.Candidate
	for i := range 120 {
		candidates = append(candidates, tool(fmt.Sprintf("tool %d of many that do something", i), fmt.Sprintf("owner %d", i/4), float64(200-i)))
	}
	for _, mode := range []schema.Rerank{schema.RerankOff, schema.RerankAuto, schema.RerankSingle, schema.RerankMulti} {
		bench := newBench(b, candidates...)
		bench.build(b, Config{Rerank: mode})
		b.Run(string(mode), func(b *testing.B) {
			for b.Loop() {
				bench.search(b, schema.SearchRequest{Query: "send money to a friend, then track the parcel and tell me when the train leaves"})
			}
		})
	}
}

// What the trainer learned tells which queries one owner answers; what can not
// be is refused, and what was there stays.
func TestTheLearnedClassifierDecides(t *testing.T) {
	b := reranking(t, schema.RerankAuto, tool("bank.transfer", "bank", 100), tool("post.track", "post", 98),
		tool("rail.times", "rail", 96), tool("maps.way", "maps", 94), tool("bank.balance", "bank", 50))
	usage := func(epoch uint64, change func(c *schema.Classifier)) schema.Usage {
		certain := rerank.Classifier{Spread: rerank.ColdStart().Spread, Bias: 3}
		u := schema.Usage{Schema: schema.UsageSchema, Tenant: testTenant, Epoch: epoch, Single: certain.Published(80)}
		change(u.Single)
		return u
	}
	algorithm := func() schema.Rerank { return b.search(t, schema.SearchRequest{}).Reranked }
	if got := algorithm(); got != "" {
		t.Fatalf("%q before anything is learned", got)
	}
	b.usage.learn(usagePrefix+testTenant, mustJSON(t, usage(1, func(*schema.Classifier) {})))
	if got := algorithm(); got != schema.RerankSingle {
		t.Errorf("%q by what was learned", got)
	}
	bad := map[string]func(c *schema.Classifier){
		"short":      func(c *schema.Classifier) { c.Mean, c.Spread, c.Weights = c.Mean[:5], c.Spread[:5], c.Weights[:5] },
		"uneven":     func(c *schema.Classifier) { c.Weights = c.Weights[:5] },
		"no spread":  func(c *schema.Classifier) { c.Spread[3] = 0 },
		"huge":       func(c *schema.Classifier) { c.Weights[3] = 1e300 },
		"empty":      func(c *schema.Classifier) { *c = schema.Classifier{} },
		"huge bias":  func(c *schema.Classifier) { c.Bias = -1e300 },
		"other sign": func(c *schema.Classifier) { c.Spread[0] = -1 },
	}
	for name, change := range bad {
		b.usage.learn(usagePrefix+testTenant, mustJSON(t, usage(2, change)))
		if got := algorithm(); got != schema.RerankSingle {
			t.Errorf("%s: taken", name)
		}
	}
	if n := b.metric(t, "toolstream_search_model_rejected_total"); n != float64(len(bad)) {
		t.Errorf("%v refusals counted", n)
	}
}

// An impression tells by which signals it was decided, for feedback to teach.
func TestImpressionsHoldTheSignals(t *testing.T) {
	for mode, want := range map[schema.Rerank]int{schema.RerankAuto: int(rerank.SignalCount), schema.RerankSingle: 0} {
		b := reranking(t, mode, shops()...)
		stop := b.start(t)
		b.search(t, schema.SearchRequest{})
		stop()
		if shown := b.impressions(t); len(shown) != 1 || len(shown[0].Signals) != want || schema.CheckSignals(shown[0].Signals) != nil {
			t.Errorf("%s: %+v", mode, shown)
		}
	}
}
