package query

import (
	"slices"
	"testing"

	"github.com/toolstream/toolstream/pkg/rerank"
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
		if !slices.Equal(needs[i], rerank.WordsOf(want)) {
			t.Errorf("need %d is not %q", i, want)
		}
	}
	for _, w := range []string{"book", "ferri", "ticket", "port"} {
		if !doc.Has(w) {
			t.Errorf("%q is missing in %v", w, doc)
		}
	}
	if doc.Has("the") || doc.Has("in") {
		t.Errorf("stop words in %v", doc)
	}
}
