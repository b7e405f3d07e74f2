package search

import (
	"slices"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

func TestRewrite(t *testing.T) {
	tests := []struct {
		name  string
		req   schema.SearchRequest
		state schema.Rewrite
		needs []string
	}{
		{"one clause", schema.SearchRequest{Query: " book a flight "}, schema.RewriteOff, []string{"book a flight"}},
		{"clauses", schema.SearchRequest{Query: "Find a cheap flight to Rome. Then send the ticket to my boss."}, schema.RewriteOff,
			[]string{"Find a cheap flight to Rome.", "Then send the ticket to my boss."}},
		{"needs", schema.SearchRequest{Query: "a. b", Needs: []schema.Need{{ToolDescription: "d", UserIntent: "u"}}}, schema.RewriteGiven, []string{"d. u"}},
		{"arguments alone", schema.SearchRequest{Query: "Book a ferry. Then find a hotel.", Arguments: map[string]string{"to": "where"}}, schema.RewriteGiven,
			[]string{"Book a ferry.", "Then find a hotel."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := parse(tt.req)
			var got []string
			for _, n := range p.needs {
				got = append(got, whole(n))
			}
			if p.source != tt.state || !slices.Equal(got, tt.needs) {
				t.Errorf("got %s %q", p.source, got)
			}
		})
	}
	if p := parse(schema.SearchRequest{Needs: []schema.Need{{UserIntent: "a"}, {UserIntent: "b"}}}); p.text != "a. b" {
		t.Errorf("needs without a query are asked as %q", p.text)
	}
}
