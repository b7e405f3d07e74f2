package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolstream/toolstream/internal/indexmgr"
)

// desk answers as a server whose target is live after some questions, or never.
func desk(t *testing.T, after int64, change func(*indexmgr.Report)) *httptest.Server {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		report := indexmgr.Report{Live: 1, Target: 2, Versions: []indexmgr.State{
			{Version: indexmgr.Version{Number: 1, Setting: "static"}, State: indexmgr.StateLive, Entities: 10, There: 10, Stage: "embedder"},
			{Version: indexmgr.Version{Number: 2, Setting: "static:x"}, State: indexmgr.StateBuilding, Entities: 10, There: 9, Lag: 3, Stage: "embedder-2"},
		}}
		if asked.Add(1) > after {
			report.Live, report.Versions[1].Lag = 2, 0
		}
		if change != nil {
			change(&report)
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(report); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestReindexWaitsAndSaysWhatIsWrong(t *testing.T) {
	dead := func(r *indexmgr.Report) { r.Versions[1].Dead, r.Versions[1].Lag = 1, 0 }
	broken := func(r *indexmgr.Report) {
		r.Replicas = []indexmgr.Replica{{Services: []string{"embedder"}, Address: "http://e:1", Problem: "no such file"}}
	}
	behind := func(r *indexmgr.Report) {
		r.Replicas = []indexmgr.Replica{{Services: []string{"query"}, Address: "http://q:1", Live: 1, Target: 2}}
	}
	for name, tc := range map[string]struct {
		args   []string
		after  int64
		change func(*indexmgr.Report)
		code   int
		says   string
	}{
		"shows":             {nil, 99, nil, exitDone, "3 records behind"},
		"waits":             {[]string{"--model", "static:x"}, 2, nil, exitDone, "static:x"},
		"does not wait":     {[]string{"--model", "static:x", "--wait=false"}, 99, nil, exitDone, "building"},
		"dead letters":      {[]string{"--model", "static:x"}, 99, dead, exitFailed, "dlq list --stage embedder-2"},
		"another's fault":   {[]string{"--model", "static:x"}, 2, broken, exitDone, "embedder at http://e:1: no such file"},
		"replica behind":    {[]string{"--back", "--wait=false"}, 0, behind, exitDone, "http://q:1"},
		"two at once":       {[]string{"--back", "--finish"}, 0, nil, exitUsage, "exclude each other"},
		"nobody is to wait": {[]string{"--finish"}, 99, nil, exitDone, "building"},
	} {
		var out, errOut bytes.Buffer
		args := append([]string{"reindex", "--server", desk(t, tc.after, tc.change).URL, "--no-progress"}, tc.args...)
		code := run(t.Context(), args, strings.NewReader(""), &out, &errOut)
		if code != tc.code || !strings.Contains(out.String()+errOut.String(), tc.says) {
			t.Errorf("%s: code %d, want %d and %q in\n%s%s", name, code, tc.code, tc.says, &out, &errOut)
		}
	}
}
