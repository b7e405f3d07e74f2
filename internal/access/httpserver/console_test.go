package httpserver

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func consoleServer(t *testing.T) http.Handler {
	t.Helper()
	console := check.Value(OpenConsole(fstest.MapFS{
		"index.html":         {Data: []byte("<p>the console</p>")},
		"assets/main-abc.js": {Data: []byte(strings.Repeat("go(); ", 100))},
		"assets/dot-def.png": {Data: []byte("a picture")},
	}))(t)
	return handler(NewMux(), Config{Console: console})
}

func TestTheConsoleIsServed(t *testing.T) {
	h := consoleServer(t)
	for _, tc := range []struct {
		path, accepts                 string
		code                          int
		media, encoding, cached, body string
	}{
		{"/console/", "", 200, "text/html; charset=utf-8", "", "no-cache", "<p>the console</p>"},
		{"/console/index.html", "gzip;q=0, br", 200, "text/html; charset=utf-8", "", "no-cache", "<p>the console</p>"},
		{"/console/assets/main-abc.js", "br, gzip;q=0.5", 200, "text/javascript; charset=utf-8", "gzip", "public, max-age=31536000, immutable", strings.Repeat("go(); ", 100)},
		{"/console/assets/dot-def.png", "gzip", 200, "image/png", "", "public, max-age=31536000, immutable", "a picture"},
		{"/console/assets/", "", 404, problemType, "", "", "no such file"},
		{"/console/../openapi.json", "", 307, "", "", "", ""},
		{"/console", "", 307, "", "", "", ""},
		{"/", "", 302, "", "", "", ""},
	} {
		r := httptest.NewRequest("GET", "http://localhost"+tc.path, nil)
		r.Header.Set("Accept-Encoding", tc.accepts)
		w := served(h, r)
		body, header := io.Reader(w.Body), w.Header()
		if header.Get("Content-Encoding") == "gzip" {
			z := check.Value(gzip.NewReader(body))(t)
			body = z
		}
		text, err := io.ReadAll(body)
		if err != nil || w.Code != tc.code || !strings.Contains(string(text), tc.body) || tc.code == 200 && string(text) != tc.body {
			t.Errorf("%s: %d %v %s", tc.path, w.Code, err, text)
		}
		if tc.media != "" && (header.Get("Content-Type") != tc.media || header.Get("Content-Encoding") != tc.encoding || header.Get("Cache-Control") != tc.cached) {
			t.Errorf("%s: %v", tc.path, header)
		}
		if policy := header.Get("Content-Security-Policy"); (policy == consolePolicy) != (tc.code == 200) || policy == "" {
			t.Errorf("%s: the policy is %q", tc.path, policy)
		}
		if tc.path == "/" && header.Get("Location") != ConsolePath {
			t.Errorf("/ leads to %s", header.Get("Location"))
		}
	}
}

func TestAFileThatABrowserHasIsNotSentAgain(t *testing.T) {
	h := consoleServer(t)
	get := func(accepts, has string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "http://localhost/console/", nil)
		r.Header.Set("Accept-Encoding", accepts)
		r.Header.Set("If-None-Match", has)
		return served(h, r)
	}
	plain, zipped := get("", "").Header().Get("ETag"), get("gzip", "").Header().Get("ETag")
	if w := get("", plain); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("the same file: %d %s", w.Code, w.Body)
	}
	if w := get("", zipped); w.Code != http.StatusOK || plain == zipped {
		t.Errorf("the same file in another encoding: %d, %s and %s", w.Code, plain, zipped)
	}
}

func TestAFileOfNoKnownTypeIsRefused(t *testing.T) {
	if _, err := OpenConsole(fstest.MapFS{"run.exe": {Data: []byte("x")}}); err == nil {
		t.Error("it is served")
	}
}
