package query

import (
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/toolstream/toolstream/pkg/schema"
)

func TestWeightsAreSwappedHotAndPerTenant(t *testing.T) {
	b := newBench(t, tool("a", "", 1), tool("b", "", 2))
	b.start(t)
	if resp := b.search(t, schema.SearchRequest{}); resp.Weights != "builtin" || resp.Results[0].ID != "b" {
		t.Fatalf("got %+v", resp)
	}
	upside := func(w *schema.Weights) { w.Features = map[string]float64{"query.lexical.flat": -1} }
	b.watcher.put(t, "weights.live.other", sealed(1, upside))
	if resp := b.search(t, schema.SearchRequest{}); resp.Weights != "builtin" {
		t.Errorf("another tenant's weights rank: %+v", resp)
	}
	b.weigh(t, 2, upside)
	if resp := b.search(t, schema.SearchRequest{}); resp.Weights != "w2" || resp.Results[0].ID != "a" {
		t.Errorf("got %+v", resp)
	}
	b.weigh(t, 3, nil)
	if resp := b.search(t, schema.SearchRequest{}); resp.Weights != "w3" || resp.Results[0].ID != "b" {
		t.Errorf("got %+v", resp)
	}
}

func TestDeletedWeightsBringTheBuiltinBack(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	b.weigh(t, 9, nil)
	b.learn(t, "weights.live.default", nil)
	if resp := b.search(t, schema.SearchRequest{}); resp.Weights != "builtin" {
		t.Errorf("ranked by %q", resp.Weights)
	}
	b.weigh(t, 2, nil)
	if resp := b.search(t, schema.SearchRequest{}); resp.Weights != "w2" {
		t.Errorf("ranked by %q", resp.Weights)
	}
}

func TestUsageLiftsWhatIsUsedTogether(t *testing.T) {
	b := newBench(t, tool("token", "", 0), tool("transfer", "", 5), tool("balance", "", 4), tool("other", "", 1))
	b.start(t)
	b.watcher.put(t, "weights.live.default", sealed(1, func(w *schema.Weights) {
		w.Features["usage.prior"], w.Features["usage.co_use"] = 0.5, 1
	}))
	if also := b.alsoOf(t); len(also) != 0 {
		t.Errorf("nothing is known and %v take part", also)
	}
	three, one := math.Log1p(3), math.Log1p(1)
	b.watcher.put(t, "usage.default", schema.Usage{
		Schema: 1, Tenant: "default", Epoch: 1,
		Prior: map[string]float64{"token": three, "transfer": one},
		CoUse: map[string]map[string]float64{"transfer": {"token": three}, "balance": {"token": one}, "token": {"transfer": three, "balance": one}},
	})
	if also := b.alsoOf(t); !slices.Equal(also, []string{"token", "transfer"}) {
		t.Errorf("%v take part in any case", also)
	}
	resp := b.search(t, schema.SearchRequest{Explain: true})
	for _, r := range resp.Results {
		if r.ID != "token" {
			continue
		}
		if got, want := r.Explanation.Features["usage.co_use"], 3/3.5+1/1.5; math.Abs(got-want) > 1e-12 {
			t.Errorf("co-use with the front runners is %v, want %v", got, want)
		}
		if got := r.Explanation.Features["usage.prior"]; got != three {
			t.Errorf("prior is %v, want %v", got, three)
		}
	}
	if got := ids(resp); slices.Index(got, "token") > slices.Index(got, "other") {
		t.Errorf("ranked %v", got)
	}
}

func (b *bench) alsoOf(t *testing.T) []string {
	t.Helper()
	b.search(t, schema.SearchRequest{})
	return b.index.last().Also
}

func TestALostStoreIsWatchedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, tool("a", "", 1))
		b.watcher = newFakeWatcher() // its channels belong to the bubble
		b.build(t, Config{})
		stop := b.start(t)
		b.watcher.fails <- errors.New("lost")
		<-b.watcher.started
		b.weigh(t, 1, nil)
		b.learn(t, "usage.default", schema.Usage{Schema: 1, Tenant: "default"})
		if resp := b.search(t, schema.SearchRequest{}); resp.Weights != "w1" {
			t.Errorf("ranked by %q", resp.Weights)
		}
		stop()
	})
}
