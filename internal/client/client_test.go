package client

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &Client{Server: s.URL + "/", Token: "secret", HTTP: s.Client()}
}

func TestPostSendsJSONAndTheToken(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/search" || r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got %s with %v", r.URL, r.Header)
		}
		w.Write([]byte(`{"k": 3}`))
	})
	var out struct{ K int }
	if err := c.Post(t.Context(), "/v1/search", map[string]int{"k": 3}, &out); err != nil || out.K != 3 {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestProblemsAreTold(t *testing.T) {
	tests := []struct {
		status int
		body   string
		want   string
	}{
		{422, `{"title":"Unprocessable","status":422,"detail":"bad k","errors":[{"message":"must be at least 1","location":"/body/k"}]}`, "bad k; /body/k: must be at least 1 (HTTP 422)"},
		{422, `{"title":"Unprocessable","status":422,"detail":"/k: must be 1 to 9, have 0","errors":[{"message":"must be 1 to 9","location":"/body/k"}]}`, "/k: must be 1 to 9, have 0 (HTTP 422)"},
		{401, `{"title":"Unauthorized","detail":"a token is required"}`, "a token is required: give one with --token or TOOLSTREAM_TOKEN, or log in with `toolstream login` (HTTP 401)"},
		{503, `{"title":"Unavailable"}`, "Unavailable (HTTP 503)"},
		{502, `<html>gateway</html>`, "<html>gateway</html> (HTTP 502)"},
		{500, ``, "Internal Server Error (HTTP 500)"},
	}
	for _, test := range tests {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			w.Write([]byte(test.body))
		})
		err := c.Get(t.Context(), "/v1/tools", nil, nil)
		var p *Problem
		if !errors.As(err, &p) || p.Status != test.status || err.Error() != test.want {
			t.Errorf("%d: got %v, want %q", test.status, err, test.want)
		}
		if NotFound(err) {
			t.Errorf("%d counts as not found", test.status)
		}
	}
}

func TestAServerMayLackItsScheme(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{}`)) })
	c.Server = strings.TrimPrefix(c.Server, "http://")
	if err := c.Get(t.Context(), "/v1/tools", nil, nil); err != nil {
		t.Error(err)
	}
}

func TestNoServerSaysWhatToDo(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	c := &Client{Server: s.URL, HTTP: http.DefaultClient}
	err := c.Get(t.Context(), "/v1/tools", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "toolstream up") {
		t.Errorf("got %v", err)
	}
}

func TestPathTakesAnyID(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.EscapedPath(); got != "/v1/tools/a%2Fb%20%3F%E6%97%85" {
			t.Errorf("got %q", got)
		}
		w.WriteHeader(http.StatusNotFound)
	})
	if err := c.Get(t.Context(), Path("/v1/tools", "a/b ?旅"), nil, nil); !NotFound(err) {
		t.Errorf("got %v", err)
	}
}
