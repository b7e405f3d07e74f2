package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// called runs a command with nothing on its standard input.
func called(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(t.Context(), args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// serveJSON starts a server whose answers are JSON, and returns its address.
func serveJSON(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}
