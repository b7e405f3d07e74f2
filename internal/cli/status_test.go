package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/services/ingest/sources"
	"github.com/toolstream/toolstream/services/trainer"
)

func TestDoctorSaysWhichWeightsAreRefused(t *testing.T) {
	for _, refused := range [][]string{nil, {"weights: decode weights: unexpected end of JSON input"}} {
		var findings []status.Finding
		for _, why := range refused {
			findings = append(findings, status.Finding{What: why, Remedy: "toolstream weights promote VERSION"})
		}
		server := serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/weights" {
				list := map[string]any{"damaged": []trainer.Damaged{}}
				if refused != nil {
					list["damaged"] = []trainer.Damaged{{Version: "w4-00000000", Reason: "wrong hash"}}
				}
				_ = json.NewEncoder(w).Encode(list)
				return
			}
			if err := json.NewEncoder(w).Encode(status.Status{Ready: true, Findings: findings}); err != nil {
				t.Error(err)
			}
		})
		code, out, errOut := called(t, "doctor", "--server", server)
		if said := strings.Contains(out, "unexpected end") && strings.Contains(out, "weights promote") && strings.Contains(out, "w4-00000000"); said != (refused != nil) || (code == program.Done) == said {
			t.Errorf("refused %q: exit code %d, %s%s", refused, code, out, errOut)
		}
	}
}

func TestStatusSaysWhyASourceIsHeld(t *testing.T) {
	var out strings.Builder
	printSources(&console{Terminal: program.NewTerminal(nil, &out, io.Discard)}, &status.Sources{
		States: map[sources.State]int{sources.Held: 1}, Unwell: []status.Unwell{{Name: "shop", State: sources.Held}},
	})
	if !strings.Contains(out.String(), "more than half of its tools are gone") {
		t.Errorf("%s", out.String())
	}
}

func TestStatusCountsInSingularAndPlural(t *testing.T) {
	var out strings.Builder
	printStatus(&console{Terminal: program.NewTerminal(nil, &out, io.Discard)}, status.Status{Uncovered: 1, Tools: 2})
	if !strings.Contains(out.String(), "1 document with") || !strings.Contains(out.String(), "2 tools and 0 providers") {
		t.Errorf("%s", out.String())
	}
}
