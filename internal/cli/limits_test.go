package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/httpserver"
)

func TestLimitsShowWhoUsesThem(t *testing.T) {
	answer := httpserver.LimitsUse{Limits: []httpserver.LimitUse{
		{Name: "searches", Limit: 600, PerSeconds: 60, Used: 412, CallerLimit: 300, Callers: []httpserver.CallerUse{{Subject: "planner", Used: 298}, {Used: 3}}},
		{Name: "tools", Limit: 1000, Used: 12},
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/limits" {
			t.Errorf("it asks for %s", r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	shown := func(args ...string) string {
		var out strings.Builder
		if code := run(t.Context(), append([]string{"limits", "--server", server.URL}, args...), strings.NewReader(""), &out, &out); code != exitDone {
			t.Errorf("exit code %d: %s", code, out.String())
		}
		return out.String()
	}
	lines := strings.Split(shown(), "\n")
	for i, want := range []string{"LIMIT USED OF IN OF ONE CALLER CALLERS", "searches 412 600 1m0s 300 planner 298, without a name 3", "tools 12 1000 all"} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := shown("-o", "name"); got != "searches\ntools\n" {
		t.Errorf("names: %q", got)
	}
	answer.Limits = nil
	if got := shown(); !strings.Contains(got, "no limits") {
		t.Errorf("without limits: %q", got)
	}
}
