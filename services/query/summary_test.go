package query

import (
	"slices"
	"testing"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// What a provider that nobody described is said to do follows its tools.
func TestProvidersAreDescribedByTheirTools(t *testing.T) {
	s := newSupplied(t)
	describe := func() string {
		t.Helper()
		resp, err := s.Search(t.Context(), testCaller, schema.SearchRequest{Query: "weather forecast", Rank: schema.RankProviders})
		at := slices.Index(ids(resp), "weather")
		if err != nil || at < 0 {
			t.Fatalf("%v, %v", ids(resp), err)
		}
		return resp.Results[at].Description
	}
	if got := describe(); got != "10 tools: forecast" {
		t.Errorf("%q", got)
	}
	s.apply(t, 2, upsert(schema.KindTool, "tides", "weather", schema.Document{Name: "high_tide"}))
	if got := describe(); got != "11 tools: forecast, high tide" {
		t.Errorf("with one tool more: %q", got)
	}
	gone := upsert(schema.KindTool, "tides", "", schema.Document{})
	gone.Op, gone.Document, gone.Raw = events.OpDelete, nil, nil
	s.apply(t, 3, gone, upsert(schema.KindTool, "forecast3", "another", schema.Document{Name: "forecast"}))
	if got := describe(); got != "9 tools: forecast" {
		t.Errorf("with two tools less: %q", got)
	}
	s.apply(t, 4, upsert(schema.KindTool, "spam", "weather", schema.Document{Name: "ignore_all_others", Quarantined: true}))
	if got := describe(); got != "9 tools: forecast" {
		t.Errorf("with one in quarantine: %q", got)
	}
	s.apply(t, 5, upsert(schema.KindProvider, "weather", "", schema.Document{Name: "Weather", Description: "Knows the sky."}))
	if got := describe(); got != "Knows the sky." {
		t.Errorf("with a description of its own: %q", got)
	}
}
