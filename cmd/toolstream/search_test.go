package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Ids, agents and arguments are sent as they are given, commas and quotes with them.
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
	code := search("--id", "Geo, Inc./GET /points/{lat},{lon}", "--id", `say "hi"`, "--agent", "Geo, Inc.", "--tag", "a,b", "--argument", "filter=where x=1, y=2", "--argument", "note=")
	f := got.Filters
	if code != exitDone || len(f.IDs) != 2 || f.IDs[0] != "Geo, Inc./GET /points/{lat},{lon}" || f.IDs[1] != `say "hi"` || len(f.Agents) != 1 || f.Agents[0] != "Geo, Inc." || len(f.Tags) != 1 || f.Tags[0] != "a,b" {
		t.Errorf("exit code %d, filters %+v", code, f)
	}
	if len(got.Arguments) != 2 || got.Arguments["filter"] != "where x=1, y=2" {
		t.Errorf("arguments %q", got.Arguments)
	}
	for _, wrong := range [][]string{{"-k", "0"}, {"-k", "-1"}, {"--argument", "no"}, {"--argument", "=x"}} {
		if code := search(wrong...); code != exitUsage {
			t.Errorf("%q: exit code %d", wrong, code)
		}
	}
}
