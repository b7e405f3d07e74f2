package query

import (
	"context"
	"errors"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/search"
)

// An operator sees what other weights would rank, and nothing is learned from it.
func TestASearchByNamedWeights(t *testing.T) {
	const kept, foreign, damaged, away = "w3-0a1b2c3d", "w4-0a1b2c3d", "w5-0a1b2c3d", "w6-0a1b2c3d"
	upside := func(w *schema.Weights) { w.Features = map[string]float64{"query.lexical.flat": -1} }
	b := newBench(t, tool("a", "", 1), tool("b", "", 2))
	other := sealed(4, func(w *schema.Weights) { w.Model = "another" })
	b.versions = fakeVersions{
		"weights.version.default." + kept: sealed(3, upside), "weights.version.default." + foreign: other,
		"weights.version.default." + damaged: map[string]any{"schema": 1}, "weights.version.default." + away: errDown,
		"weights.version.other.w7-0a1b2c3d": sealed(7, upside),
	}
	b.build(t, Config{})
	stop := b.start(t)
	reader := identity.Caller{Tenant: testTenant, Role: identity.Writer}
	for _, tt := range []struct {
		caller        identity.Caller
		weights       string
		first, ranked string
		status        int
	}{
		{testCaller, "live", "b", "builtin", 0},
		{testCaller, "builtin", "b", "builtin", 0},
		{testCaller, kept, "a", "w3", 0},
		{reader, "live", "", "", 403},
		{testCaller, foreign, "", "", 422},
		{testCaller, damaged, "", "", 422},
		{testCaller, away, "", "", 503},
		{testCaller, "w9-0a1b2c3d", "", "", 422},
		{testCaller, "w7-0a1b2c3d", "", "", 422}, // another tenant's
		{testCaller, "other." + kept, "", "", 422},
	} {
		resp, err := b.Search(t.Context(), tt.caller, schema.SearchRequest{Query: "q", Weights: tt.weights})
		if tt.status != 0 {
			if err == nil || search.Status(err) != tt.status {
				t.Errorf("%s: %v, not %d", tt.weights, err, tt.status)
			}
			continue
		}
		if err != nil || resp.Results[0].ID != tt.first || resp.Weights != tt.ranked || resp.SearchID != "" {
			t.Errorf("%s: %+v %v", tt.weights, resp, err)
		}
	}
	b.search(t, schema.SearchRequest{})
	stop()
	if got := b.impressions(t); len(got) != 1 {
		t.Errorf("%d impressions, of one search that teaches", len(got))
	}
}

func TestSearchesOfAnEvaluationAreNotCounted(t *testing.T) {
	b := newBench(t, tool("a", "", 1), tool("b", "", 2))
	other := newBench(t, tool("c", "", 1))
	released := 0
	b.other = func(version int) (search.Snapshot, func(), bool) {
		return search.Snapshot{Index: other.index, Catalogue: other.catalogue, Embedder: other.embedder}, func() { released++ }, version == 2
	}
	b.build(t, Config{Places: 1})
	stop := b.start(t)
	req := schema.SearchRequest{Query: "q"}
	for version, first := range []string{"b", "", "c"} {
		resp, err := b.Measure(version).Search(t.Context(), testCaller, req)
		if first == "" {
			if invalid := (*schema.Invalid)(nil); !errors.As(err, &invalid) || invalid.Path != "/model" {
				t.Errorf("version %d: %v", version, err)
			}
		} else if err != nil || resp.Results[0].ID != first || resp.SearchID != "" {
			t.Errorf("version %d: %+v %v", version, resp, err)
		}
	}
	if released != 1 {
		t.Errorf("the index version is released %d times", released)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Measure(0).Search(ctx, testCaller, req); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	stop()
	if n := b.metric(t, "toolstream_searches_total"); n != 0 || len(b.impressions(t)) != 0 {
		t.Errorf("%v searches counted, %d impressions", n, len(b.impressions(t)))
	}
	b.search(t, schema.SearchRequest{}) // there is a place again
}
