package cli

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Ids, providers and arguments are sent as they are given, commas and quotes with them.
func TestSearchSendsWhatIsNamed(t *testing.T) {
	var got schema.SearchRequest
	s := serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		w.Write([]byte(`{"results":[]}`))
	})
	search := func(args ...string) int {
		code, _, _ := called(t, append([]string{"search", "x", "--server", s}, args...)...)
		return code
	}
	code := search("--id", "Geo, Inc./GET /points/{lat},{lon}", "--id", `say "hi"`, "--provider", "Geo, Inc.", "--tag", "a,b", "--argument", "filter=where x=1, y=2", "--argument", "note=", "--exclude-flag", "bidi-characters")
	f := got.Filters
	if code != program.Done || len(f.IDs) != 2 || f.IDs[0] != "Geo, Inc./GET /points/{lat},{lon}" || f.IDs[1] != `say "hi"` || len(f.Providers) != 1 || f.Providers[0] != "Geo, Inc." || len(f.Tags) != 1 || f.Tags[0] != "a,b" {
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
	if code != program.Done || got.Session != "a talk" || !slices.Equal(got.Needs, want) || !slices.Equal(got.Filters.Kinds, []schema.Kind{schema.KindTool, schema.KindProvider}) {
		t.Errorf("exit code %d, session %q, needs %+v, kinds %q", code, got.Session, got.Needs, got.Filters.Kinds)
	}
	for _, wrong := range [][]string{
		{"-k", "0"}, {"-k", "-1"}, {"--argument", "no"}, {"--argument", "=x"},
		{"--kind", "toaster"}, {"--need", `{"intent": "x"}`}, {"--need", `{"user_intent": "x"`}, {"--need", " "}, {"--need", "x", "--step", "y"},
	} {
		if code := search(wrong...); code != program.Usage {
			t.Errorf("%q: exit code %d", wrong, code)
		}
	}
}

// A wide table of a search has the names that models call tools by.
func TestAWideSearchShowsCallableNames(t *testing.T) {
	s := serveJSON(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"results":[{"id":"shop/GET /boats","callable_name":"shop_boats_1234abcd"}]}`))
	})
	for args, want := range map[string]bool{"-o wide": true, "-o table": false} {
		code, out, errOut := called(t, append([]string{"search", "x", "--server", s}, strings.Fields(args)...)...)
		if code != program.Done || strings.Contains(out, "shop_boats_1234abcd") != want {
			t.Errorf("%s: code %d\n%s%s", args, code, out, errOut)
		}
	}
}

// If nothing fits, it is said with the reason, and each row is marked.
func TestASearchSaysWhyNothingFits(t *testing.T) {
	for reason := range reasons {
		s := serveJSON(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Write([]byte(`{"nothing_fits":true,"reason":"` + string(reason) + `","withheld":[{"name":"jira_create","confidence":0.5,"why":"its source jira is stale"}],
				"withheld_by":{"server_down":2,"filters":1},"results":[{"id":"a","description":"Boils."}]}`))
		})
		_, out, errOut := called(t, "search", "x", "--server", s)
		said := "nothing fits: " + reasons[reason] + "; the results below only come nearest\nleft out: jira_create, confidence 0.50: its source jira is stale\nleft out: 2 more\n"
		if !strings.Contains(out, "unlikely. Boils.") || !strings.HasPrefix(errOut, said) {
			t.Errorf("%s:\n%s%s", reason, out, errOut)
		}
	}
	if len(reasons) != len(schema.Reasons()) {
		t.Errorf("%d of %d reasons have words", len(reasons), len(schema.Reasons()))
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
	s := serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
		var req schema.SearchRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		asked = req.Explain
		w.Write([]byte(`{"results":[{"id":"a","explanation":{"summary":["matches \"rain\" in its name"],"terms":{"query.lexical.flat":2},"features":{"query.lexical.flat":1}}}]}`))
	})
	for _, c := range []struct {
		args           []string
		asked, full    bool
		code, sentence int
	}{
		{nil, false, false, program.Done, 1}, // of a server that explains unasked
		{[]string{"--explain"}, true, false, program.Done, 1},
		{[]string{"--explain=short"}, true, false, program.Done, 1},
		{[]string{"--explain=full"}, true, true, program.Done, 1},
		{[]string{"--explain=much"}, false, false, program.Usage, 0},
	} {
		asked = false
		code, out, errOut := called(t, append([]string{"search", "x", "--server", s}, c.args...)...)
		if code != c.code || asked != c.asked || strings.Count(out, `   matches "rain" in its name`) != c.sentence || strings.Contains(out, "query.lexical.flat") != c.full {
			t.Errorf("%v: exit code %d, asked %v:\n%s%s", c.args, code, asked, out, errOut)
		}
	}
}
