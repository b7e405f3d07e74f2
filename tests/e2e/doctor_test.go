package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/server"
	runs "github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
)

// diagnosed waits until doctor says something wrong with these words, or, where
// there are none, that nothing is.
func diagnosed(t *testing.T, p *process.Process, says ...string) {
	t.Helper()
	var last outcome
	err := until(t, func() (bool, error) {
		last = at(t, p, "doctor", "--json")
		var report struct {
			Findings []struct {
				OK           bool
				What, Remedy string
			}
		}
		if err := json.Unmarshal([]byte(last.out), &report); err != nil {
			return false, err
		}
		wrong := ""
		for _, f := range report.Findings {
			if !f.OK {
				wrong += f.What + " " + f.Remedy + "\n"
			}
		}
		for _, word := range says {
			if !strings.Contains(wrong, word) {
				return false, nil
			}
		}
		return (last.code == 0) == (len(says) == 0), nil
	})
	if err != nil {
		t.Errorf("doctor does not say %q: %v\n%s%s", says, err, last.out, last.errOut)
	}
}

func TestDoctorNamesWhatIsBroken(t *testing.T) {
	level.Campaign(t)
	d := process.Serve(t, &cluster, process.Binary())
	put(t, d.Front(), "boat", ferry)
	agree(t, d)
	diagnosed(t, d.Front())
	processesTell(t, d)

	t.Log("nobody embeds")
	d.Kill("embedder-1", "embedder-2")
	send(t, d.Front(), http.MethodPut, "/v1/tools/oven", "application/json", bread)
	diagnosed(t, d.Front(), "embedder is 1 records behind", "no process works on it", "toolstream serve embedder")
	d.Start(t, "embedder-1")
	d.Start(t, "embedder-2")
	agree(t, d)
	diagnosed(t, d.Front())

	t.Log("the replica that is asked is away")
	d.Kill("query-1")
	diagnosed(t, d.Front(), "query does not answer", "toolstream serve query")
}

// processesTell waits until status shows who runs and by which weights they rank.
func processesTell(t *testing.T, d *process.Distributed) {
	t.Helper()
	var s runs.Status
	check.OK(t, d.Front().Client.Get(t.Context(), "/v1/status", nil, &s))
	count := map[string]int{}
	for _, p := range s.Processes {
		count[strings.Join(p.Services, " ")]++
		if searches := p.Services[0] == server.QueryService; !p.Ready || p.Version == "" || (p.Weights != "") != searches {
			t.Errorf("%+v", p)
		}
	}
	if count["query"] != 2 || count["embedder"] != 2 || count["trainer"] != 1 || s.Mode != runs.ModeDistributed {
		t.Errorf("mode %s, processes %v", s.Mode, count)
	}
	for _, st := range s.Stages {
		if shared := st.Name != "index-writer"; shared != (st.Workers != nil && *st.Workers == 2) || st.Problem != "" {
			t.Errorf("%+v", st)
		}
	}
}
