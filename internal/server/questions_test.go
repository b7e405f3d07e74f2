package server

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/server/questions"
	"github.com/toolstream/toolstream/pkg/events"
)

// A tenant's questions measure its searches by several settings; nothing is recorded of
// these searches, and the audit log has the evaluation once.
func TestSearchesAreMeasuredByQuestions(t *testing.T) {
	cfg := emptyFolder(t)
	cfg.Audit.Searches = 0
	cfg.Auth.TokensFile = filepath.Join(t.TempDir(), "tokens")
	secrets := tokensOf(t, cfg.Auth.TokensFile,
		identity.Caller{Tenant: "acme", Subject: "ada", Role: identity.Writer}, identity.Caller{Tenant: "acme", Subject: "olga", Role: identity.Operator})
	e, stop := up(t, cfg)
	for id, does := range map[string]string{"tide": "Tells when the tide is low.", "ferry": "Books a seat on a ferry.", "rail": "Lists trains to a town."} {
		wantStatus(t, call(e, secrets["olga"], "PUT", "/v1/tools/"+id, `{"name":"`+id+`","description":"`+does+`"}`), http.StatusAccepted)
		await(t, func() bool { return call(e, secrets["olga"], "GET", "/v1/tools/"+id, "").Code == http.StatusOK })
	}
	const two = `{"version":"0","questions":[{"query":"when is low tide","relevant":[{"id":"tide"}]},{"query":"a seat on a ferry","relevant":[{"id":"ferry"},{"id":"absent"}]}]}`
	wantStatus(t, call(e, secrets["olga"], "PUT", "/v1/questions", two), http.StatusOK)
	if w := call(e, secrets["ada"], "POST", "/v1/questions:evaluate", `{"runs":[{}]}`); w.Code != http.StatusForbidden {
		t.Errorf("a writer measures: %d", w.Code)
	}
	before := len(audited(t, e))
	w := call(e, secrets["olga"], "POST", "/v1/questions:evaluate", `{"runs":[{},{"weights":"heuristic","rerank":"off"},{"model":1}]}`)
	records := audited(t, e)[before:]
	if len(records) != 1 || records[0].Action != "evaluate-questions" {
		t.Errorf("the log has %+v", records)
	}
	var got questions.EvaluationResult
	if err := json.Unmarshal(w.Body.Bytes(), &got); w.Code != http.StatusOK || err != nil || len(got.Runs) != 3 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for i, r := range got.Runs {
		if r.Metrics.MRR != 1 || r.Metrics.Recall5 != .75 || r.Questions[1].First != 1 || r.Questions[1].Results[0] != "ferry" {
			t.Errorf("run %d: %+v", i, r)
		}
	}
	if len(got.Missing) != 1 || got.Missing[0] != "absent" || got.Runs[0].Settings.Weights != "builtin" || got.Runs[1].Settings.Weights == "builtin" {
		t.Errorf("missing %v, settings %+v and %+v", got.Missing, got.Runs[0].Settings, got.Runs[1].Settings)
	}
	if w := call(e, secrets["olga"], "POST", "/v1/questions:evaluate", `{"runs":[{"model":7}]}`); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("an index version that is not there: %d %s", w.Code, w.Body)
	}
	if w := call(e, secrets["ada"], "POST", "/v1/search", `{"query":"low tide","weights":"live"}`); w.Code != http.StatusForbidden {
		t.Errorf("a writer names weights: %d", w.Code)
	}
	if w := call(e, secrets["olga"], "POST", "/v1/search", `{"query":"low tide","weights":"builtin"}`); w.Code != http.StatusOK {
		t.Errorf("an operator names weights: %d %s", w.Code, w.Body)
	}
	stop() // what waits is published at the end
	e, _ = up(t, cfg)
	n := 0
	if err := stream.ReadAll(t.Context(), theBus.get(e.Process), events.Searches, func(stream.Message) { n++ }); err != nil || n != 0 {
		t.Errorf("%d searches are recorded, %v", n, err)
	}
}
