package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/server/reindex"
)

// desk answers as a server whose target is live after some questions, or never.
func desk(t *testing.T, after int64, change func(*reindex.Report)) string {
	var asked atomic.Int64
	return serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
		report := reindex.Report{Live: 1, Target: 2, Versions: []reindex.State{
			{Version: reindex.Version{Number: 1, Setting: "static"}, State: reindex.StateLive, Entities: 10, There: 10, Stage: "embedder"},
			{Version: reindex.Version{Number: 2, Setting: "static:x"}, State: reindex.StateBuilding, Entities: 10, There: 9, Lag: 3, Stage: "embedder-2"},
		}}
		if asked.Add(1) > after {
			report.Live, report.Versions[1].Lag = 2, 0
		}
		if change != nil {
			change(&report)
		}
		if err := json.NewEncoder(w).Encode(report); err != nil {
			t.Error(err)
		}
	})
}

func TestReindexWaitsAndSaysWhatIsWrong(t *testing.T) {
	dead := func(r *reindex.Report) { r.Versions[1].Dead, r.Versions[1].Lag = 1, 0 }
	broken := func(r *reindex.Report) {
		r.Replicas = []reindex.Replica{{Services: []string{"embedder"}, Address: "http://e:1", Problem: "no such file"}}
	}
	behind := func(r *reindex.Report) {
		r.Replicas = []reindex.Replica{{Services: []string{"query"}, Address: "http://q:1", Live: 1, Target: 2}}
	}
	for name, tc := range map[string]struct {
		args   []string
		after  int64
		change func(*reindex.Report)
		code   int
		says   string
	}{
		"shows":             {nil, 99, nil, program.Done, "3 records behind"},
		"waits":             {[]string{"--model", "static:x"}, 2, nil, program.Done, "static:x"},
		"does not wait":     {[]string{"--model", "static:x", "--wait=false"}, 99, nil, program.Done, "building"},
		"dead letters":      {[]string{"--model", "static:x"}, 99, dead, program.Failed, "dlq list --stage embedder-2"},
		"another's fault":   {[]string{"--model", "static:x"}, 2, broken, program.Done, "embedder at http://e:1: no such file"},
		"replica behind":    {[]string{"--back", "--wait=false"}, 0, behind, program.Done, "http://q:1"},
		"two at once":       {[]string{"--back", "--finish"}, 0, nil, program.Usage, "exclude each other"},
		"nobody is to wait": {[]string{"--finish"}, 99, nil, program.Done, "building"},
	} {
		args := append([]string{"reindex", "--server", desk(t, tc.after, tc.change), "--no-progress"}, tc.args...)
		code, out, errOut := called(t, args...)
		if code != tc.code || !strings.Contains(out+errOut, tc.says) {
			t.Errorf("%s: code %d, want %d and %q in\n%s%s", name, code, tc.code, tc.says, out, errOut)
		}
	}
}
