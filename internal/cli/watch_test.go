package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/program"
)

func TestWatchSaysWhatChanges(t *testing.T) {
	const events = `retry: 2000

event: status
data: {"ready":true,"tools":2,"findings":[{"ok":true,"what":"fine"},{"ok":false,"what":"3 documents are in the dead letters"}]}

event: sample
data: {"time":"2026-01-01T00:00:00Z","accepted_per_second":1.5,"search_p99_ms":12,"lag":4,"dead_letters":3,"tools":2}

event: tools
data: {"changed":3,"some":[{"id":"tides","kind":"tool","revision":7},{"id":"ferry\u001b[2J","kind":"tool","revision":6,"deleted":true}]}

event: dead_letters
data: {"open":3,"reasons":{"undecodable":3}}

event: sources
data: {"sources":[{"name":"shop","kind":"mcp","state":"stale","tools":4,"last_error":"no route"}],"removed":["weather"],"more":2}

event: weights
data: {"live":"w3","epoch":5}

event: unheard_of
data: {}

`
	for _, test := range []struct {
		args   []string
		status int
		code   int
		says   []string
		hides  string
	}{
		{nil, http.StatusOK, program.Done, []string{
			"status        ready; 2 tools; 3 documents are in the dead letters\n", "sample        1.5 accepted/s, p99 12.0 ms, lag 4, 2 tools\n",
			"tools         3 changed: tides, ferry [2J (gone), 1 more\n", "dead_letters  3 open, 3 for undecodable\n",
			"sources       shop is stale (no route) with 4 tools, weather is gone, 2 more\n", "weights       w3 (epoch 5)\n",
		}, "unheard_of"},
		{[]string{"tools", "-o", "json"}, http.StatusOK, program.Done, []string{`{"event":"tools","data":{"changed":3,`}, "weights"},
		{[]string{"tool"}, http.StatusOK, program.Usage, []string{`EVENT is "tool"; it is one of status`}, ""},
		{nil, http.StatusForbidden, program.Failed, []string{"403"}, ""},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked == 2 { // it has come back
				cancel()
				return
			}
			w.WriteHeader(test.status)
			if test.status == http.StatusOK {
				_, _ = io.WriteString(w, events)
			}
		}))
		var out, errOut strings.Builder
		code := Run(ctx, append([]string{"watch", "--server", server.URL}, test.args...), strings.NewReader(""), &out, &errOut)
		server.Close()
		cancel()
		said := out.String() + errOut.String()
		for _, says := range test.says {
			if !strings.Contains(said, says) {
				t.Errorf("%q does not say %q: %s", test.args, says, said)
			}
		}
		if code != test.code || test.hides != "" && strings.Contains(said, test.hides) {
			t.Errorf("%q: exit code %d, %s", test.args, code, said)
		}
	}
}
