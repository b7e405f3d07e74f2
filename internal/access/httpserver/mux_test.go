package httpserver

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestPatternsMayEndInAnAction(t *testing.T) {
	mux := NewMux()
	for _, pattern := range []string{"GET /things/{name}", "POST /things/{name}:start", "POST /things/{name}:stop"} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Pattern+" "+r.PathValue("name")) })
	}
	for request, want := range map[string]string{
		"GET /things/a:b":            "GET /things/{name} a:b",
		"POST /things/a:start":       "POST /things/{name}:start a",
		"POST /things/a%2Fb%3A:stop": "POST /things/{name}:stop a/b:",
		"POST /things/a:turn":        "404",
		"POST /things/a":             "404",
		"POST /things/start":         "404",
	} {
		method, path, _ := strings.Cut(request, " ")
		w := served(mux, httptest.NewRequest(method, path, nil))
		if want == "404" && w.Code != 404 || want != "404" && w.Body.String() != want {
			t.Errorf("%s: %d %s, want %s", request, w.Code, w.Body, want)
		}
	}
}
