package query

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

// bySimilar gives usage.similar a say beside the words.
func bySimilar(w *schema.Weights) {
	w.Features = map[string]float64{"query.lexical.flat": 1, "usage.similar": 10}
}

// byWordsAlone gives usage no say.
func byWordsAlone(w *schema.Weights) { w.Features = map[string]float64{"query.lexical.flat": 1} }

// askedFor is a table by the model m. The fake embedder turns a query of n letters into (n, 0).
func askedFor(tools map[string]schema.Direction) schema.Usage {
	u := schema.Usage{Schema: 1, Tenant: testTenant, Epoch: 1, Model: "m", Prior: map[string]float64{}, Asked: map[string][]schema.Direction{}}
	for id, d := range tools {
		u.Asked[id] = []schema.Direction{{0, 127}, d}
	}
	return u
}

func TestAToolUsedForAQueryLikeThisIsLifted(t *testing.T) {
	b := newBench(t, tool("wordy", "", 5), tool("asked", "", 1), tool("opposite", "", 1))
	b.learning(t)
	b.learn(t, "usage.default", askedFor(map[string]schema.Direction{"asked": {127, 64}, "opposite": {-127, 0}}))
	resp := b.search(t, schema.SearchRequest{Explain: true})
	if also := b.index.last().Also; !slices.Equal(also, []string{"asked"}) {
		t.Errorf("%v take part", also)
	}
	if got := ids(resp); got[0] != "asked" {
		t.Fatalf("ranked %v", got)
	}
	if got, want := resp.Results[0].Explanation.Features["usage.similar"], (127/math.Hypot(127, 64)-0.6)/0.4; math.Abs(got-want) > 1e-6 {
		t.Errorf("similar %v, want %v", got, want)
	}
	for _, r := range resp.Results[1:] {
		if x := r.Explanation.Features["usage.similar"]; x != 0 {
			t.Errorf("%s: similar %v", r.ID, x)
		}
	}
	b.embedder.err = fmt.Errorf("away")
	if got := ids(b.search(t, schema.SearchRequest{})); got[0] != "wordy" {
		t.Errorf("without a vector ranked %v", got)
	}
}

func TestImpressionsCarryTheVectorOfTheQuery(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	b.model = "m"
	b.build(t, Config{})
	stop := b.start(t)
	b.search(t, schema.SearchRequest{})
	b.embedder.err = fmt.Errorf("away")
	b.search(t, schema.SearchRequest{})
	stop()
	got := b.impressions(t)
	if len(got) != 2 || got[0].Model != "m" || !slices.Equal(got[0].Vector, schema.Direction{127, 0}) {
		t.Fatalf("impressions %+v", got)
	}
	if got[1].Vector != nil {
		t.Errorf("a query that could not be embedded has the vector %v", got[1].Vector)
	}
}
