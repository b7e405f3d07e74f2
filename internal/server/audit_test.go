package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/tokentest"
	"github.com/toolstream/toolstream/pkg/events"
)

// audited returns what stands in the audit log.
func audited(t *testing.T, e *Embedded) (records []audit.Record) {
	t.Helper()
	check.OK(t, stream.ReadAll(t.Context(), theBus.get(e.Process), events.Audit, func(m stream.Message) {
		var line struct{ Record audit.Record }
		if err := json.Unmarshal(m.Value, &line); err != nil {
			t.Error(err)
		}
		records = append(records, line.Record)
	}))
	return records
}

// opened returns the records of the default tenant, as its admin reads them.
func opened(t *testing.T, e *Embedded) []audit.Opened {
	t.Helper()
	var page struct{ Records []audit.Opened }
	if w := call(e, "", "GET", "/v1/audit?limit=1000", ""); w.Code != http.StatusOK || json.Unmarshal(w.Body.Bytes(), &page) != nil {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return page.Records
}

// served returns those of a process.
func served(e *Embedded) []*huma.Operation {
	api, _ := httpserver.NewAPI("")
	for _, routes := range e.routes {
		routes(api)
	}
	return ofAPI(api)
}

func call(e *Embedded, token, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, local+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return recorded(e, r)
}

// Each call of an operation that may change something leaves one record, and of all others
// none unless they are sampled: a new operation is covered because it is in the document.
func TestEveryChangeLeavesOneRecord(t *testing.T) {
	cfg := emptyFolder(t)
	cfg.Audit.Searches = 0
	e, _ := up(t, cfg)
	parameter := regexp.MustCompile(`\{[a-z]+\}`)
	changes := 0
	for _, op := range served(e) {
		if identity.Needed(op.Security) == "" { // its sender has to prove itself first
			continue
		}
		before := len(audited(t, e))
		w := call(e, "", op.Method, parameter.ReplaceAllLiteralString(op.Path, "a"), `{"name":"a","description":"Tells when the tide is low."}`)
		if !audit.IsSampled(op.Method, op.Metadata) { // that of a refusal is written in the background
			await(t, func() bool { return len(audited(t, e)) > before })
		}
		left := audited(t, e)[before:]
		if audit.IsSampled(op.Method, op.Metadata) {
			if len(left) != 0 {
				t.Errorf("%s %s left %+v", op.Method, op.Path, left)
			}
			continue
		}
		changes++
		if len(left) != 1 || left[0].Action != op.OperationID || left[0].Status != w.Code || left[0].Role != "admin" || left[0].Tenant != identity.DefaultTenant {
			t.Errorf("%s %s, answered %d, left %d records: %+v", op.Method, op.Path, w.Code, len(left), left)
		}
	}
	if changes < 20 {
		t.Errorf("only %d operations change something", changes)
	}
}

func TestSearchesAreSampled(t *testing.T) {
	cfg := emptyFolder(t)
	cfg.Audit.Searches = 1
	e, stop := up(t, cfg)
	const secret = "the secret query"
	var answer struct {
		SearchID string `json:"search_id"`
	}
	if w := call(e, "", "POST", "/v1/search", `{"query":"`+secret+`"}`); w.Code != http.StatusOK || json.Unmarshal(w.Body.Bytes(), &answer) != nil {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	stop() // what waits is written at the end
	e, _ = up(t, cfg)
	records := opened(t, e)
	if len(records) != 1 || records[0].Action != "search" || records[0].Search != answer.SearchID {
		t.Fatalf("%+v, of the search %s", records, answer.SearchID)
	}
	if text, _ := json.Marshal(records); strings.Contains(string(text), "secret") {
		t.Errorf("the query stands in the log: %s", text)
	}
}

// tokensOf writes a file of tokens, one for each caller, and returns them by subject.
func tokensOf(t *testing.T, file string, callers ...identity.Caller) map[string]string {
	t.Helper()
	secrets := map[string]string{}
	for _, c := range callers {
		secrets[c.Subject] = tokentest.Add(t, file, c, time.Time{})
	}
	return secrets
}

// The log has which grants a change added and removed, what was a dry run or was not done, and
// who asked for a tool that no grant allows.
func TestGrantsAndTheirDenialsAreAudited(t *testing.T) {
	cfg := emptyFolder(t)
	cfg.Audit.Searches = 0
	cfg.Auth.TokensFile = filepath.Join(t.TempDir(), "tokens")
	secrets := tokensOf(t, cfg.Auth.TokensFile, identity.Caller{Tenant: "acme", Subject: "ada", Role: identity.Reader}, identity.Caller{Tenant: "acme", Subject: "olga", Role: identity.Admin})
	e, stop := up(t, cfg)
	wantStatus(t, call(e, secrets["olga"], "PUT", "/v1/tools/a", `{"name":"a","description":"Tells when the tide is low."}`), http.StatusAccepted)
	for call(e, secrets["ada"], "GET", "/v1/tools/a", "").Code != http.StatusOK {
		runtime.Gosched() // until it is indexed
	}
	wantStatus(t, call(e, secrets["olga"], "PUT", "/v1/grants?dry_run=true", `{"version":"0","grants":[]}`), http.StatusOK)
	wantStatus(t, call(e, secrets["olga"], "PUT", "/v1/grants", `{"version":"0","grants":[{"effect":"allow","action":"find","on":"*","to":"role:admin"}]}`), http.StatusOK)
	wantStatus(t, call(e, secrets["olga"], "PUT", "/v1/grants", `{"version":"0","grants":[]}`), http.StatusConflict)
	wantStatus(t, call(e, secrets["olga"], "POST", "/v1/tools:sync", `{"providers":["p"],"keep":[],"dry_run":true}`), http.StatusOK)
	for _, id := range []string{"a", "absent"} {
		wantStatus(t, call(e, secrets["ada"], "GET", "/v1/tools/"+id, ""), http.StatusNotFound)
	}
	stop()
	e, _ = up(t, cfg)
	var page audit.Excerpt
	if w := call(e, secrets["olga"], "GET", "/v1/audit", ""); json.Unmarshal(w.Body.Bytes(), &page) != nil {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var said []string
	for _, r := range page.Records[1:] {
		said = append(said, fmt.Sprint(r.Subject, " ", r.Action, " ", r.Decision, " ", r.Status, " ", r.DryRun, " ", r.Tools, r.Changed, " ", r.Policy != ""))
	}
	want := "olga replace-grants allowed 200 true [] [] false\n" +
		"olga replace-grants allowed 200 false [] [+ allow find on * to role:admin] true\n" +
		"olga replace-grants allowed 409 false [] [] false\n" +
		"olga sync-tools allowed 200 true [] [] false\n" +
		"ada get-tool denied 404 false [{a  0}] [] true"
	if got := strings.Join(said, "\n"); got != want {
		t.Errorf("the log has\n%s\nwant\n%s", got, want)
	}
}

func TestDenialsAreAudited(t *testing.T) {
	cfg := emptyFolder(t)
	cfg.Audit.Searches = 0
	cfg.Auth.TokensFile = filepath.Join(t.TempDir(), "tokens")
	secrets := tokensOf(t, cfg.Auth.TokensFile,
		identity.Caller{Tenant: "acme", Subject: "ada", Role: identity.Reader}, identity.Caller{Tenant: "acme", Subject: "olga", Role: identity.Operator},
		identity.Caller{Tenant: identity.DefaultTenant, Subject: "root", Role: identity.Operator})
	e, stop := up(t, cfg)
	wantStatus(t, call(e, secrets["ada"], "PUT", "/v1/tools/a", `{"name":"a"}`), http.StatusForbidden)
	for range 3 {
		wantStatus(t, call(e, "wrong", "GET", "/v1/tools?cursor=wrong", ""), http.StatusUnauthorized)
	}
	if w := call(e, secrets["ada"], "GET", "/v1/audit", ""); w.Code != http.StatusForbidden {
		t.Errorf("a reader reads the audit log: %d", w.Code)
	}
	wantStatus(t, call(e, secrets["olga"], "DELETE", "/v1/tools/a", ""), http.StatusAccepted)
	stop()
	e, _ = up(t, cfg)
	show := func(who, query string) (said []string) {
		var page audit.Excerpt
		if w := call(e, secrets[who], "GET", "/v1/audit"+query, ""); json.Unmarshal(w.Body.Bytes(), &page) != nil || w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		for _, r := range page.Records {
			said = append(said, fmt.Sprint(r.Subject, r.Address, " ", r.Action, " ", r.Status, " ", r.Decision, " ", r.Reason, " ", max(r.Count, 1)))
		}
		return said
	}
	want := "ada put-tool 403 denied this needs the role writer; the caller has reader 1\n" +
		"ada list-audit-records 403 denied this needs the role operator; the caller has reader 1\n" +
		"olga delete-tool 202 allowed  1"
	if got := strings.Join(show("olga", ""), "\n"); got != want {
		t.Errorf("acme has\n%s\nwant\n%s", got, want)
	}
	if got := show("olga", "?who=olga&decision=allowed"); len(got) != 1 {
		t.Errorf("of olga: %q", got)
	}
	total := 0
	for _, said := range show("root", "") {
		var n int
		if _, err := fmt.Sscanf(said, "192.0.2.1 GET /v1/tools 401 denied a valid bearer token is required %d", &n); err != nil {
			t.Errorf("default has %q: %v", said, err)
		}
		total += n
	}
	if total != 3 {
		t.Errorf("%d of 3 requests without a token stand in the log", total)
	}
}

// An import is answered piece by piece, and each piece is recorded before it is answered.
func TestAnImportNamesItsTools(t *testing.T) {
	e, _ := up(t, emptyFolder(t))
	var lines strings.Builder
	const tools = 600
	for n := range tools {
		fmt.Fprintf(&lines, `{"id":"t%d","document":{"name":"t%d","description":"Tells when tide %d is low."}}`+"\n", n, n, n)
	}
	w := call(e, "", "POST", "/v1/tools:batch?source=a.jsonl", lines.String())
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"summary"`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	named := map[string]bool{}
	records := opened(t, e)
	for _, r := range records {
		if r.Action != "batch-tools" {
			t.Errorf("%+v", r)
		}
		for _, tool := range r.Tools {
			named[tool.ID] = tool.Revision > 0
		}
	}
	if len(named) != tools || len(records) < 2 {
		t.Errorf("%d records name %d tools", len(records), len(named))
	}
}
