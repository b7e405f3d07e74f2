package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/server/mcpserver"
)

// The server keeps the pins; commands change some of them and send all back, with the version that
// they have read.
func TestToolsArePinnedAndUnpinned(t *testing.T) {
	kept := mcpserver.Pins{Version: "7", Tools: []string{}}
	server := serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "PUT /v1/pins":
			kept = mcpserver.Pins{}
			if err := json.NewDecoder(r.Body).Decode(&kept); err != nil {
				t.Error(err)
			}
			fallthrough
		case "GET /v1/pins":
			_ = json.NewEncoder(w).Encode(kept)
		default:
			http.NotFound(w, r)
		}
	})
	for _, c := range []struct{ args, kept string }{
		{"pin a/x b", "a/x b"},
		{"pin c b", "a/x b c"},
		{"unpin b never", "a/x c"},
		{"pins", "a/x c"},
		{"unpin a/x c", ""},
	} {
		code, out, errOut := called(t, append(append([]string{"mcp"}, strings.Fields(c.args)...), "--server", server)...)
		if shown := strings.Join(strings.Fields(out), " "); code != program.Done || shown != c.kept || strings.Join(kept.Tools, " ") != c.kept || kept.Version != "7" {
			t.Errorf("%s: exit code %d, shown %q, kept %q, want %q: %s", c.args, code, shown, kept.Tools, c.kept, errOut)
		}
	}
}
