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
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("%sIssue%02d", []string{"get", "list", "close"}[i%3], i))
	}
	many = append(many, "mergePullRequest", "list_pull_requests")
	for name, c := range map[string]struct {
		names []string
		more  bool
		want  string
	}{
		"nothing":       {nil, false, ""},
		"one":           {[]string{"bookFerry"}, false, "1 tool: book ferry"},
		"equal names":   {[]string{"search", "Search", "look_up"}, false, "3 tools: search, look up"},
		"what is usual": {[]string{"delete_invoice", "list_invoices", "send_invoice", "ping"}, false, "4 tools: send invoice, list invoices, ping, delete invoice"},
		"more":          {[]string{"a_b"}, true, "more than 1 tools: a b and others"},
		"no names":      {[]string{" ", ""}, false, ""},
	} {
		if got := summary(c.names, c.more); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	got := summary(many, false)
	if !strings.HasPrefix(got, "32 tools: ") || !strings.HasSuffix(got, " and others") || !strings.Contains(got, "pull") || len(got) > 600 {
		t.Errorf("many: %q", got)
	}
	for range 5 {
		slices.Reverse(many)
		if again := summary(many, false); again != got {
			t.Errorf("in another order %q, not %q", again, got)
		}
	}
}

// What an agent that nobody described is said to do follows its tools.
func TestAgentsAreDescribedByTheirTools(t *testing.T) {
	s := newSupplied(t)
	describe := func() string {
		t.Helper()
		resp, err := s.Search(t.Context(), testTenant, schema.SearchRequest{Query: "weather forecast", Rank: schema.RankAgents})
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
	s.apply(t, 5, upsert(schema.KindAgent, "weather", "", schema.Document{Name: "Weather", Description: "Knows the sky."}))
	if got := describe(); got != "Knows the sky." {
		t.Errorf("with a description of its own: %q", got)
	}
}
