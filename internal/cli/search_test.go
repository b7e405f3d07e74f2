package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Ids, providers and arguments are sent as they are given, commas and quotes with them.
func TestSearchSendsWhatIsNamed(t *testing.T) {
	var got schema.SearchRequest
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"results":[]}`))
	}))
	defer s.Close()
	search := func(args ...string) int {
		var out strings.Builder
		return run(t.Context(), append([]string{"search", "x", "--server", s.URL}, args...), strings.NewReader(""), &out, &out)
	}
	code := search("--id", "Geo, Inc./GET /points/{lat},{lon}", "--id", `say "hi"`, "--provider", "Geo, Inc.", "--tag", "a,b", "--argument", "filter=where x=1, y=2", "--argument", "note=", "--exclude-flag", "bidi-characters")
	f := got.Filters
	if code != exitDone || len(f.IDs) != 2 || f.IDs[0] != "Geo, Inc./GET /points/{lat},{lon}" || f.IDs[1] != `say "hi"` || len(f.Providers) != 1 || f.Providers[0] != "Geo, Inc." || len(f.Tags) != 1 || f.Tags[0] != "a,b" {
		t.Errorf("exit code %d, filters %+v", code, f)
	}
	if len(got.Exclude) != 1 || got.Exclude[0] != "bidi-characters" {
		t.Errorf("excluded %q", got.Exclude)
	}
	if len(got.Arguments) != 2 || got.Arguments["filter"] != "where x=1, y=2" {
		t.Errorf("arguments %q", got.Arguments)
	}
	code = search("--session", "a talk", "--kind", "tool", "--kind", "provider", "--need", "file a bug", "--need", `{"tool_description": "Uploads, a file.", "expected_response": "its address"}`)
	want := []schema.Need{{UserIntent: "file a bug"}, {ToolDescription: "Uploads, a file.", ExpectedResponse: "its address"}}
	if code != exitDone || got.Session != "a talk" || !slices.Equal(got.Needs, want) || !slices.Equal(got.Filters.Kinds, []schema.Kind{schema.KindTool, schema.KindProvider}) {
		t.Errorf("exit code %d, session %q, needs %+v, kinds %q", code, got.Session, got.Needs, got.Filters.Kinds)
	}
	for _, wrong := range [][]string{
		{"-k", "0"}, {"-k", "-1"}, {"--argument", "no"}, {"--argument", "=x"},
		{"--kind", "toaster"}, {"--need", `{"intent": "x"}`}, {"--need", `{"user_intent": "x"`}, {"--need", " "}, {"--need", "x", "--step", "y"},
	} {
		if code := search(wrong...); code != exitUsage {
			t.Errorf("%q: exit code %d", wrong, code)
		}
	}
}

// A wide table of a search has the names that models call tools by.
func TestAWideSearchShowsCallableNames(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"results":[{"id":"shop/GET /boats","callable_name":"shop_boats_1234abcd"}]}`))
	}))
	defer s.Close()
	for args, want := range map[string]bool{"-o wide": true, "-o table": false} {
		var out strings.Builder
		code := run(t.Context(), append([]string{"search", "x", "--server", s.URL}, strings.Fields(args)...), strings.NewReader(""), &out, &out)
		if code != exitDone || strings.Contains(out.String(), "shop_boats_1234abcd") != want {
			t.Errorf("%s: code %d\n%s", args, code, out.String())
		}
	}
}

func TestFlagsComeFirstInADescription(t *testing.T) {
	if got := describe(schema.Result{Description: "Boils.", Flags: []string{"bidi-characters", "mixed-scripts"}}); got != "flagged bidi-characters, mixed-scripts. Boils." {
		t.Error(got)
	}
}

// By default an explanation is in words; full shows the features.
func TestExplanationsAreShortOrFull(t *testing.T) {
	asked := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req schema.SearchRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		asked = req.Explain
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"results":[{"id":"a","explanation":{"summary":["matches \"rain\" in its name"],"terms":{"query.lexical.flat":2},"features":{"query.lexical.flat":1}}}]}`))
	}))
	defer s.Close()
	for _, c := range []struct {
		args           []string
		asked, full    bool
		code, sentence int
	}{
		{nil, false, false, exitDone, 1}, // of a server that explains unasked
		{[]string{"--explain"}, true, false, exitDone, 1},
		{[]string{"--explain=short"}, true, false, exitDone, 1},
		{[]string{"--explain=full"}, true, true, exitDone, 1},
		{[]string{"--explain=much"}, false, false, exitUsage, 0},
	} {
		asked = false
		var out, errOut strings.Builder
		code := run(t.Context(), append([]string{"search", "x", "--server", s.URL}, c.args...), strings.NewReader(""), &out, &errOut)
		if code != c.code || asked != c.asked || strings.Count(out.String(), `   matches "rain" in its name`) != c.sentence || strings.Contains(out.String(), "query.lexical.flat") != c.full {
			t.Errorf("%v: exit code %d, asked %v:\n%s%s", c.args, code, asked, out.String(), errOut.String())
		}
	}
}
