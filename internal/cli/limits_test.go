package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/cli/program"
)

func TestLimitsShowWhoUsesThem(t *testing.T) {
	answer := httpserver.LimitsUse{Limits: []httpserver.LimitUse{
		{Name: "searches", Limit: 600, PerSeconds: 60, Used: 412, CallerLimit: 300, Callers: []httpserver.CallerUse{{Subject: "planner", Used: 298}, {Used: 3}}},
		{Name: "tools", Limit: 1000, Used: 12},
	}}
	server := serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/limits" {
			t.Errorf("it asks for %s", r.URL)
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	shown := func(args ...string) string {
		code, out, errOut := called(t, append([]string{"limits", "--server", server}, args...)...)
		if code != program.Done {
			t.Errorf("exit code %d: %s", code, errOut)
		}
		return out + errOut
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
