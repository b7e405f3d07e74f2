package app

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestWhatNoRouteMatchesIsAProblemDocument(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /here", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, tc := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/here", 204, ""}, {"GET", "/there", 404, ""}, {"POST", "/here", 405, "GET, HEAD"},
	} {
		w := httptest.NewRecorder()
		named(mux).ServeHTTP(w, httptest.NewRequest(tc.method, tc.path, nil))
		if w.Code != tc.status || w.Header().Get("Allow") != tc.allow {
			t.Errorf("%s %s: status %d, allowed %q", tc.method, tc.path, w.Code, w.Header().Get("Allow"))
		}
		if tc.status < 400 {
			continue
		}
		var p struct {
			Status int
			Detail string
		}
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != tc.status || p.Detail == "" || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %v %s", tc.method, tc.path, err, w.Body)
		}
	}
}

func TestABodyThatNobodyWantsIsReadBeforeTheAnswer(t *testing.T) {
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) })
	for _, tc := range []struct{ size, left int }{{0, 0}, {1 << 20, 0}, {drainLimit + 5, 5}} {
		body := bytes.NewReader(make([]byte, tc.size))
		drained(refuse).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("PUT", "/", io.NopCloser(body)))
		if body.Len() != tc.left {
			t.Errorf("of %d bytes %d are left, want %d", tc.size, body.Len(), tc.left)
		}
	}
}
