package search

import (
	"fmt"
	"strings"
	"testing"
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
