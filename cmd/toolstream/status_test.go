package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/app"
)

func TestDoctorSaysWhichWeightsAreRefused(t *testing.T) {
	for _, refused := range [][]string{nil, {"weights: decode weights: unexpected end of JSON input"}} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(app.Status{Ready: true, Tools: 1, Weights: "w5-00000000", Refused: refused}); err != nil {
				t.Error(err)
			}
		}))
		var out, errOut bytes.Buffer
		code := run(t.Context(), []string{"doctor", "--server", server.URL}, strings.NewReader(""), &out, &errOut)
		server.Close()
		if said := strings.Contains(out.String(), "unexpected end") && strings.Contains(out.String(), "weights promote"); said != (refused != nil) || (code == exitDone) == said {
			t.Errorf("refused %q: exit code %d, %s%s", refused, code, &out, &errOut)
		}
	}
}
