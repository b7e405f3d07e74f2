package provenance

import (
	"strings"
	"testing"
)

func TestReasonAt(t *testing.T) {
	source := NewSource(decoded(t, `{"operation": {"x": {"$ref": "#/definitions/Used"}}, "api": {"description": "The whole API", "title": "An API"}, "folders": [{"name": "f"}],
		"info": {"license": "MIT", "terms_of_service": "Agree", "Contact": {"name": "Ada"}, "sampleQueries": ["find it"], "raw": "a b c"},
		"properties": {"default": {"description": "A parameter"}, "enum": ["a"]}, "list": [{"const": 1}, "text"], "body": {"city": {"description": "Where"}},
		"definitions": {"Used": {"about": "here"}, "Gone": {"about": "nowhere"}}, "embedded": "{\"license\": \"MIT\"}",
		"parameters": [{"name": "Authorization", "in": "header", "about": "x"}, {"name": "City", "in": "header", "about": "x"}, {"key": "X-API-Key", "value": "", "about": "x"}, {"key": "host", "about": "x"}]}`))
	for path, want := range map[string]Reason{
		"info/license": Licence, "info/terms_of_service": Licence, "info/Contact/name": Boilerplate, "info/sampleQueries/0": Payload, "info/raw": Payload, "embedded/license": Licence,
		"api/description": Boilerplate, "api/title": "", "folders/0/name": Boilerplate,
		"properties/default/description": "", "properties/enum/0": Payload, "list/0/const": Payload, "list/1": "", "body/city/description": "",
		"definitions/Used/about": "", "definitions/Gone/about": Unused,
		"parameters/0/about": Boilerplate, "parameters/1/about": "", "parameters/2/about": Boilerplate, "parameters/3/about": "",
		"nowhere/at/all": "", "list/7": "",
	} {
		if got := source.ReasonAt(strings.Split(path, "/")); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestReasonOf(t *testing.T) {
	for s, want := range map[string]Reason{
		"No description available.": Boilerplate, "not provided": Boilerplate, "There is no documentation for the description of it": "",
		`{"a": 1}`: Payload, "<a>b</a>": Payload, " [x] ": Payload, "{not closed": "", "": "",
		"def book(room):\n  pass": Code, "Call it:\ncurl -X POST": Code, "import json": Code, "SELECT a FROM b": Code, "0x7f 1234 5678": Code,
		"Select a room from the list": "", "Books a room (or two).": "", "订一间房": "",
	} {
		if got := ReasonOf(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestFold(t *testing.T) {
	for s, want := range map[string]string{"apiName": "apiname", "API name": "apiname", "api_name": "apiname", "apiname": "apiname", "Größe-2": "größe2", "\x00a": "a", "": ""} {
		if got := Fold(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// A document's own additions are found too, even after texts were looked up by their start.
func TestFinderKnowsWhatIsAdded(t *testing.T) {
	f := NewFinder(docOf("Books a room."))
	const added = "Bring a towel and a passport"
	if lost := f.Missing(added); len(lost) != 1 {
		t.Fatalf("missing %q", lost)
	}
	f.Add(added)
	if words, found := f.Count(added); words != 6 || !found {
		t.Errorf("%d words, found: %v", words, found)
	}
	if lost := f.Missing("Args: bring a towel and a passport returns"); lost != nil {
		t.Errorf("missing %q", lost)
	}
}
