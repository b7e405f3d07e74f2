package cli

import (
	"net/http"
	"strings"
	"testing"
)

// What a tool says is shown as text: it clears no screen and hides nothing.
func TestWhatAToolSaysSteersNoTerminal(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	s := serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "broken") {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte(`{"status":502,"detail":"the server answers with error 1: \u001b[2Jgone"}`))
			return
		}
		_, _ = w.Write([]byte(`{"outcome":"ok","content":[{"type":"text","text":"a\tb\n\u001b[2J\u009bgone"},{"type":"\u001b[1m","mimeType":"\u0007"}]}`))
	})
	t.Setenv("TOOLSTREAM_SERVER", s)
	for tool, want := range map[string]string{"x/good": "a\tb\n [2J gone\n", "x/broken": "error 1:  [2Jgone"} {
		_, out, errOut := called(t, "tools", "call", tool)
		if got := out + errOut; !strings.Contains(got, want) || strings.ContainsAny(got, "\x1b\a\u009b") {
			t.Errorf("%s: %q", tool, got)
		}
	}
}
