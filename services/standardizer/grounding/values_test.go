package grounding

import (
	"slices"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

func TestFits(t *testing.T) {
	for _, c := range []struct {
		said, typ string
		enum      []string
		want      bool
	}{
		{"Whether to send it", "boolean", nil, true}, {"Whether to send it", "string", nil, false}, {"How many nights", "integer", nil, true}, {"How many nights", "string", nil, false},
		{"The name of the city", "string", nil, true}, {"The name of the city", "integer", nil, false}, {"The name of the city", "array of string", nil, true}, {"The language", "string (date-time)", nil, false},
		{"The name of the city", "integer", []string{"1"}, true}, {"Whether to send it", "integer", []string{"1"}, false}, {"A city", "integer", nil, true}, {"Whether to send it", "Flight", nil, true},
	} {
		if got := fits(c.said, &schema.Parameter{Type: c.typ, Enum: c.enum}); got != c.want {
			t.Errorf("%s, %s: %v", c.said, c.typ, got)
		}
	}
}

func TestHolds(t *testing.T) {
	for _, c := range []struct {
		typ, value string
		want       bool
	}{
		{"integer", "7", true}, {"integer", "7.5", false}, {"number", `"7.5"`, true}, {"number", "seven", false}, {"boolean", "TRUE", true}, {"boolean", "yes", false},
		{"string (date)", "2024-05-01", true}, {"string (date)", "tomorrow", false}, {"string", `"a"`, true}, {"string", "z", false}, {"object", "anything", true},
	} {
		if got := holds(&schema.Parameter{Type: c.typ, Enum: map[string][]string{"string": {`"a"`, "b"}}[c.typ]}, c.value); got != c.want {
			t.Errorf("%s, %s: %v", c.typ, c.value, got)
		}
	}
}

func TestPlainNumber(t *testing.T) {
	for s, want := range map[string]string{"1,000": "1000", "1.50": "1.5", "007": "7", "0": "0", "2,5": "2.5", "1.000.000": "1000000", "3.0": "3", "0.5": ".5"} {
		if got := plainNumber(s); got != want {
			t.Errorf("%s: %s", s, got)
		}
	}
}

func TestIsHost(t *testing.T) {
	for s, want := range map[string]bool{"https://intern": true, "www.x": true, "example.com": true, "api.example.co.uk/v1": true, "main.py": false, "e.g": false, "done.The": false, "notes.md": false} {
		if isHost(s) != want {
			t.Errorf("%s: %v", s, !want)
		}
	}
}

func TestListedAndLoops(t *testing.T) {
	if got := listed("Takes red, green or blue; then a and b. One thing."); !slices.Equal(got, []int{3}) {
		t.Errorf("lists of %v", got)
	}
	for s, want := range map[string]bool{"go go go": true, "Finds flights to a city and books them.": false, "city city flight city": true} {
		if loops(s) != want {
			t.Errorf("%s: %v", s, !want)
		}
	}
}
