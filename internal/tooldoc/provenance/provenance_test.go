package provenance

import (
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

func decoded(t *testing.T, raw string) any {
	t.Helper()
	return check.Value(jsondoc.Decode([]byte(raw), jsondoc.Limits{}))(t)
}

func TestTrace(t *testing.T) {
	doc := schema.Document{
		Name: "book", Description: "Books a room. It is held for a day.", Response: "Number of the booking",
		Parameters: []schema.Parameter{{Name: "from", Description: "First of the nights"}, {Name: "to", Description: "Last night of all"}},
	}
	got := Of(decoded(t, `{
		"name": "book", "description": "Books a room. It is *held* for a day.\n\nArgs:\n  from (str): First of the nights\n  to: Last night of all\n\nReturns:\n  Number of the booking",
		"longer": "Books a room!", "lost": "Nobody has a place for this.",
		"parameters": [{"name": "from", "description": "First of the nights"}, {"name": "Accept", "in": "header", "description": "What the client can read"}],
		"license": {"name": "The Apache License, version 2"}, "docs": "No description available.",
		"example": {"guest": "Ada of the Lovelaces", "description": "Guest of the house"}, "source": "def book(from, to):\n  return rooms.book(from, to)",
		"schema": {"properties": {"default": {"description": "Last night of all"}}, "$defs": {"Guest": {"description": "Who sleeps in the room"}, "Night": {"description": "Last night of all"}}, "$ref": "#/$defs/Night"},
		"embedded": "{\"a\": \"It is held for a day.\"}"}`), &doc)
	var stands, left []string
	for _, s := range got.Sentences {
		stands = append(stands, s.Path+" "+s.Field)
	}
	for _, l := range got.LeftOut {
		left = append(left, l.Path+" "+string(l.Reason))
	}
	if want := []string{"/description description", "/description description", "/description parameters/to/description",
		"/description response", "/parameters/0/description parameters/from/description", "/schema/$defs/Night/description parameters/to/description"}; !slices.Equal(stands, want) {
		t.Errorf("in fields: %q", stands)
	}
	if want := []string{"/docs boilerplate", "/embedded/a repeated", "/example/description example payload", "/example/guest example payload", "/license/name licence", "/longer repeated", "/lost too long",
		"/parameters/1/description boilerplate", "/schema/$defs/Guest/description unused", "/schema/properties/default/description repeated", "/source code"}; !slices.Equal(left, want) {
		t.Errorf("left out: %q", left)
	}
	if got.Coverage < .75 || got.Coverage >= 1 {
		t.Errorf("coverage %v", got.Coverage)
	}
}

func docOf(description string) *schema.Document {
	return &schema.Document{Name: "book", Description: description}
}

func TestMissingWantsWholeSentencesInOrder(t *testing.T) {
	find := NewFinder(&schema.Document{Description: "Searches for flights to a city.", Parameters: []schema.Parameter{{Name: "city", Description: "Where to go"}}})
	for s, there := range map[string]bool{
		"searches FOR flights, to a <b>city</b>": true,
		"Args: city (str): Where to go":          true,
		"Searches for flights to a city cheaply": false,
		"Searches for flights, in summer":        false,
		"A city for searches to flights":         false,
		"Where to go to":                         false,
	} {
		if lost := find.Missing(s); (lost == nil) != there {
			t.Errorf("%q: missing %q", s, lost)
		}
	}
}

func TestSays(t *testing.T) {
	for s, want := range map[string]bool{"one two three": true, "one two": false, "a - b": false, "天气预报查询服务": true, "http://a.b/c?d=e f": false, "": false} {
		if Says(s) != want {
			t.Errorf("%q", s)
		}
	}
}

func TestWithoutRepeats(t *testing.T) {
	for s, want := range map[string]string{
		"Finds a cheap flight. Finds a cheap flight, and books it. Go.":  "Finds a cheap flight, and books it. Go.",
		"Finds a cheap flight. It is fast. Finds a CHEAP flight!":        "Finds a cheap flight. It is fast.",
		"Finds a cheap flight. Today it finds a cheap flight. Go. Go.":   "Today it finds a cheap flight. Go. Go.",
		"Finds a cheap flight.  It is fast.":                             "Finds a cheap flight.  It is fast.",
		"Finds a cheap flight. Today finds a cheap flight. And a train.": "Today finds a cheap flight. And a train.",
	} {
		if got := WithoutRepeats(s); got != want {
			t.Errorf("%q: %q", s, got)
		}
	}
}
