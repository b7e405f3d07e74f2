package query

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// upsideDown are weights that rank the other way round.
func upsideDown(w *schema.Weights) {
	w.Features = map[string]float64{"query.lexical.flat": -1}
}

func TestWeightsOnTrialScoreWhatTheLiveOnesRank(t *testing.T) {
	b := newBench(t, tool("a", "", 1), tool("b", "", 2), tool("c", "", 3))
	b.build(t, Config{Shadow: 1})
	stop := b.start(t)
	b.search(t, schema.SearchRequest{})
	b.watcher.put(t, "weights.shadow.default", sealed(t, 3, upsideDown))
	b.watcher.put(t, "weights.shadow.other", sealed(t, 4, nil))
	if resp := b.search(t, schema.SearchRequest{K: 2}); resp.Weights != "builtin" || !slices.Equal(ids(resp), []string{"c", "b"}) {
		t.Errorf("ranked %v by %s", ids(resp), resp.Weights)
	}
	b.watcher.put(t, "weights.shadow.default", "damaged")
	b.search(t, schema.SearchRequest{})
	b.search(t, schema.SearchRequest{Rank: schema.RankAgents})
	b.shadows.learn("weights.shadow.default", nil)
	b.search(t, schema.SearchRequest{})
	stop()
	var got []string
	for _, i := range b.impressions(t) {
		if i.Shadow == nil {
			got = append(got, "none")
		} else {
			got = append(got, fmt.Sprint(i.Shadow.Weights, i.Shadow.Ranks))
		}
	}
	if want := []string{"none", "w3[3 2]", "w3[3 2 1]", "none"}; !slices.Equal(got, want) { // what ranks no agent leaves no impression
		t.Errorf("recorded %q, want %q", got, want)
	}
	if n := b.metric(t, "toolstream_shadow_top_changed_total"); n != 2 {
		t.Errorf("another tool first in %v searches", n)
	}
}

func TestAShareOfTheSearchesIsScoredTwice(t *testing.T) {
	n := 0
	for i := range 10_000 {
		id := fmt.Sprint("search-", i)
		if shared(id, 0) || !shared(id, 1) {
			t.Fatalf("%s: none is %t, all is %t", id, shared(id, 0), shared(id, 1))
		}
		if shared(id, 0.25) {
			n++
		}
	}
	if n < 2200 || n > 2800 {
		t.Errorf("a quarter of 10000 is %d", n)
	}
}

func BenchmarkWeightsOnTrial(b *testing.B) {
	var found []index.Candidate
	for i := range 120 {
		found = append(found, tool(fmt.Sprint("t", i), fmt.Sprint("o", i%40), float64(i)))
	}
	bench := newBench(b, found...)
	bench.build(b, Config{Shadow: 1})
	weights := fusion.Builtin()
	upsideDown(&weights)
	weights, err := fusion.Seal(weights)
	if err != nil {
		b.Fatal(err)
	}
	raw, err := json.Marshal(weights)
	if err != nil {
		b.Fatal(err)
	}
	bench.shadows.learn("weights.shadow.default", raw)
	view, done := bench.use()
	defer done()
	sr := &search{id: "s", tenant: testTenant, view: view, model: view.builtin, usage: &usage{}}
	sr.req.K, sr.uses = 10, sr.usage.by("", nil)
	ranked := ranking.Rank(found, sr.model, sr.known())
	for b.Loop() {
		if bench.beside(b.Context(), sr, ranked) == nil {
			b.Fatal("not scored")
		}
	}
}
