package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/pins"
)

// The server keeps the pins; commands change some of them and send all back.
func TestToolsArePinnedAndUnpinned(t *testing.T) {
	kept := pins.Pins{Tools: []string{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.Method + " " + r.URL.Path {
		case "PUT /v1/pins":
			kept = pins.Pins{}
			if err := json.NewDecoder(r.Body).Decode(&kept); err != nil {
				t.Error(err)
			}
			fallthrough
		case "GET /v1/pins":
			_ = json.NewEncoder(w).Encode(kept)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	for _, c := range []struct{ args, kept string }{
		{"pin a/x b", "a/x b"},
		{"pin c b", "a/x b c"},
		{"unpin b never", "a/x c"},
		{"pins", "a/x c"},
		{"unpin a/x c", ""},
	} {
		var out, errOut strings.Builder
		code := run(t.Context(), append(append([]string{"mcp"}, strings.Fields(c.args)...), "--server", server.URL), strings.NewReader(""), &out, &errOut)
		if shown := strings.Join(strings.Fields(out.String()), " "); code != exitDone || shown != c.kept || strings.Join(kept.Tools, " ") != c.kept {
			t.Errorf("%s: exit code %d, shown %q, kept %q, want %q: %s", c.args, code, shown, kept.Tools, c.kept, errOut.String())
		}
	}
}
