package query

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestSummary(t *testing.T) {
	many := []string{"mergePullRequest"}
	for i := range 11 {
		many = append(many, fmt.Sprintf("close_%02d", i))
	}
	for name, c := range map[string]struct {
		names []string
		more  bool
		want  string
	}{
		"nothing":     {nil, false, ""},
		"one":         {[]string{"bookFerry"}, false, "1 tool: book ferry"},
		"equal names": {[]string{"search", "Search", "look_up"}, false, "3 tools: search, look up"},
		"short first": {[]string{"delete_invoice", "list_invoices", "send_invoice", "ping"}, false, "4 tools: ping, send invoice, list invoices, delete invoice"},
		"more":        {[]string{"a_b"}, true, "more than 1 tools: a b and others"},
		"no names":    {[]string{" ", ""}, false, ""},
	} {
		if got := summary(c.names, c.more); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := summary(many, false); !strings.HasPrefix(got, "12 tools: close 00, close 01, ") || !strings.HasSuffix(got, "close 09 and others") {
		t.Errorf("many: %q", got)
	}
}

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
