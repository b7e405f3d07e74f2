package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/httpserver"
)

func TestWhoamiSaysWhoCalls(t *testing.T) {
	var answer httpserver.Session
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/session" {
			t.Errorf("it asks for %s", r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	ada := &httpserver.SessionCaller{Tenant: "acme", Subject: "ada", Role: "operator", Groups: []string{"people", "tools"}}
	for _, tc := range []struct {
		answer httpserver.Session
		args   []string
		code   int
		says   []string
	}{
		{httpserver.Session{Authenticated: true, Caller: ada}, nil, exitDone, []string{"acme", "ada", "operator", "people, tools"}},
		{httpserver.Session{Authenticated: true, Caller: ada}, []string{"-o", "name"}, exitDone, []string{"acme/ada\n"}},
		{httpserver.Session{Authenticated: true, Caller: &httpserver.SessionCaller{Tenant: "acme"}, Open: true}, nil, exitDone, []string{"none", "asks for no credential"}},
		{httpserver.Session{}, nil, exitFailed, []string{"--token"}},
	} {
		answer = tc.answer
		var out strings.Builder
		code := run(t.Context(), append([]string{"whoami", "--server", server.URL}, tc.args...), strings.NewReader(""), &out, &out)
		for _, says := range tc.says {
			if !strings.Contains(out.String(), says) {
				t.Errorf("%+v: it does not say %q: %s", tc.answer, says, out.String())
			}
		}
		if code != tc.code {
			t.Errorf("%+v: exit code %d: %s", tc.answer, code, out.String())
		}
	}
}
