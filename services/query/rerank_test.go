package query

import (
	"maps"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

func TestWordsOfNeedsAndDocuments(t *testing.T) {
	needs := NeedWords(schema.SearchRequest{Query: "ignored", Needs: []schema.Need{
		{UserIntent: "I want to book ferries"}, {ToolDescription: "tides of a port"},
	}})
	if len(needs) != 2 {
		t.Fatalf("%d needs", len(needs))
	}
	doc := DocumentWords(&schema.Document{Name: "bookFerry", Description: "Sells tickets in the port."})
	for i, want := range [][]string{{"book", "ferri"}, {"port", "tide"}} {
		if got := slices.Sorted(maps.Keys(needs[i])); !slices.Equal(got, want) {
			t.Errorf("need %d: %q", i, got)
		}
	}
	for _, w := range []string{"book", "ferri", "ticket", "port"} {
		if !doc[w] {
			t.Errorf("%q is missing in %v", w, doc)
		}
	}
	if doc["the"] || doc["in"] {
		t.Errorf("stop words in %v", doc)
	}
}
