package provenance

import (
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

func TestWhere(t *testing.T) {
	doc := schema.Document{
		Name: "book", Description: "Books a room. It is held for a day.", Response: "Number of the booking", Examples: []string{"I need a bed tonight", "Said by a model"},
		Parameters: []schema.Parameter{{Name: "from", Description: "First of the nights"}, {Name: "guest.name"}, {Name: "beds"}, {Name: "nowhere", Description: "Not in the source"}},
	}
	source := decoded(t, `{"title": "book", "description": "About it.\n\nBooks a *room*.", "returns": {"about": "Number of the booking"}, "samples": ["Another one here", "I need a bed tonight"],
		"parameters": [{"name": "from", "description": "First of the nights"}, {"name": "beds", "type": "integer"}], "guest": {"name": {"type": "string"}}, "packed": "{\"more\": \"nothing\"}"}`)
	for part, want := range map[string]string{
		"/name": "/title", "/description": "/description", "/response": "/returns/about", "/examples/0": "/samples/1", "/examples/1": "?", "/title": "?",
		"/parameters/0": "/parameters/0/description", "/parameters/0/description": "/parameters/0/description", "/parameters/1/type": "/guest/name", "/parameters/2": "/parameters/1",
		"/parameters/3": "?", "/parameters/9": "?", "/parameters": "?", "/tags/0": "?", "": "?",
	} {
		got, known := Where(source, &doc, part)
		if known != (want != "?") || known && got != want {
			t.Errorf("%s comes from %q, %v; want %s", part, got, known, want)
		}
	}
	if got, known := Where("Books a room. Then more.", &doc, "/description"); got != "" || !known {
		t.Errorf("a text: %q, %v", got, known)
	}
}
