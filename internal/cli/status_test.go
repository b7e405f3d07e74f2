package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/status"
	"github.com/toolstream/toolstream/services/ingest/sources"
	"github.com/toolstream/toolstream/services/trainer"
)

func TestDoctorSaysWhichWeightsAreRefused(t *testing.T) {
	for _, refused := range [][]string{nil, {"weights: decode weights: unexpected end of JSON input"}} {
		var findings []status.Finding
		for _, why := range refused {
			findings = append(findings, status.Finding{What: why, Remedy: "toolstream weights promote VERSION"})
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
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
		}))
		var out, errOut bytes.Buffer
		code := run(t.Context(), []string{"doctor", "--server", server.URL}, strings.NewReader(""), &out, &errOut)
		server.Close()
		if said := strings.Contains(out.String(), "unexpected end") && strings.Contains(out.String(), "weights promote") && strings.Contains(out.String(), "w4-00000000"); said != (refused != nil) || (code == exitDone) == said {
			t.Errorf("refused %q: exit code %d, %s%s", refused, code, &out, &errOut)
		}
	}
}

func TestStatusSaysWhyASourceIsHeld(t *testing.T) {
	var out strings.Builder
	newConsole(nil, &out, io.Discard).printSources(&status.Sources{
		States: map[sources.State]int{sources.Held: 1}, Unwell: []status.Unwell{{Name: "shop", State: sources.Held}},
	})
	if !strings.Contains(out.String(), "more than half of its tools are gone") {
		t.Errorf("%s", out.String())
	}
}
