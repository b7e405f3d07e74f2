package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What a tool says is shown as text: it clears no screen and hides nothing.
func TestWhatAToolSaysSteersNoTerminal(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(r.URL.Path, "broken") {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte(`{"status":502,"detail":"the server answers with error 1: \u001b[2Jgone"}`))
			return
		}
		_, _ = w.Write([]byte(`{"outcome":"ok","content":[{"type":"text","text":"a\tb\n\u001b[2J\u009bgone"},{"type":"\u001b[1m","mimeType":"\u0007"}]}`))
	}))
	defer s.Close()
	t.Setenv("TOOLSTREAM_SERVER", s.URL)
	for tool, want := range map[string]string{"x/good": "a\tb\n [2J gone\n", "x/broken": "error 1:  [2Jgone"} {
		var out, errOut strings.Builder
		run(t.Context(), []string{"tools", "call", tool}, strings.NewReader(""), &out, &errOut)
		if got := out.String() + errOut.String(); !strings.Contains(got, want) || strings.ContainsAny(got, "\x1b\a\u009b") {
			t.Errorf("%s: %q", tool, got)
		}
	}
}
