package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/cli/program"
)

func TestWhoamiSaysWhoCalls(t *testing.T) {
	var answer httpserver.Session
	server := serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/session" {
			t.Errorf("it asks for %s", r.URL)
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	ada := &httpserver.SessionCaller{Tenant: "acme", Subject: "ada", Role: "operator", Groups: []string{"people", "tools"}}
	for _, tc := range []struct {
		answer httpserver.Session
		args   []string
		code   int
		says   []string
	}{
		{httpserver.Session{Authenticated: true, Caller: ada}, nil, program.Done, []string{"acme", "ada", "operator", "people, tools"}},
		{httpserver.Session{Authenticated: true, Caller: ada}, []string{"-o", "name"}, program.Done, []string{"acme/ada\n"}},
		{httpserver.Session{Authenticated: true, Caller: &httpserver.SessionCaller{Tenant: "acme"}, Open: true}, nil, program.Done, []string{"none", "asks for no credential"}},
		{httpserver.Session{}, nil, program.Failed, []string{"--token"}},
	} {
		answer = tc.answer
		code, out, errOut := called(t, append([]string{"whoami", "--server", server}, tc.args...)...)
		for _, says := range tc.says {
			if !strings.Contains(out+errOut, says) {
				t.Errorf("%+v: it does not say %q: %s%s", tc.answer, says, out, errOut)
			}
		}
		if code != tc.code {
			t.Errorf("%+v: exit code %d: %s%s", tc.answer, code, out, errOut)
		}
	}
}
