package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What is known already may be on its way still, as after an import that was interrupted.
func TestImportWaitsForWhatIsUnchanged(t *testing.T) {
	asked := 0
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/tools:batch", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Write([]byte(`{"line":1,"id":"a","state":"unchanged","revision":7}
{"line":2,"id":"b","state":"accepted","revision":8}
{"line":3,"id":"c","state":"stale","revision":9}
{"summary":{"start":5}}
`))
	})
	mux.HandleFunc("POST /v1/tools:states", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Changes []change }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		var states []string
		for range body.Changes {
			state := "indexed"
			if asked == 0 {
				state = "accepted"
			}
			states = append(states, `{"state":"`+state+`"}`)
		}
		asked++
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"states":[` + strings.Join(states, ",") + `]}`))
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	var out, errOut strings.Builder
	code := run(t.Context(), []string{"import", "-", "--wait", "--json", "--server", s.URL}, strings.NewReader(`{"name":"a"}`), &out, &errOut)
	var got summary
	if err := json.Unmarshal([]byte(out.String()), &got); code != exitDone || err != nil {
		t.Fatalf("exit code %d: %s%s (%v)", code, out.String(), errOut.String(), err)
	}
	if got.Accepted != 1 || got.Unchanged != 1 || got.Stale != 1 || got.Indexed == nil || *got.Indexed != 2 || asked != 2 {
		t.Errorf("%s after %d questions", out.String(), asked)
	}
}
