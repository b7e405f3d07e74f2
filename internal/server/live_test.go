package server

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/changes/tenants"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/tokentest"
)

// leaving records an answer, and leaves one that has no end at its first part.
type leaving struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

// Flush implements http.Flusher.
func (l leaving) Flush() {
	if l.Header().Get("Content-Type") == httpserver.EventStream {
		l.leave()
	}
}

// recorded returns the answer to a request.
func recorded(e *Embedded, r *http.Request) *httptest.ResponseRecorder {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	w := leaving{httptest.NewRecorder(), cancel}
	theHTTP.get(e.Process).ServeHTTP(w, r.WithContext(ctx))
	return w.ResponseRecorder
}

// wantStatus ends the test if an answer has another status.
func wantStatus(t *testing.T, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("%d %s, want %d", w.Code, w.Body, status)
	}
}

// listening is a stream of events.
type listening struct {
	t     *testing.T
	lines *bufio.Scanner
}

// listen opens a stream of events at an address.
func listen(t *testing.T, address, token string) *listening {
	t.Helper()
	r := check.Value(http.NewRequestWithContext(t.Context(), "GET", address+"/v1/stream", nil))(t)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp := check.Value(http.DefaultClient.Do(r))(t)
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return &listening{t, lines}
}

// next returns the next event, an empty one at the end of the stream.
func (l *listening) next() (event string, data json.RawMessage) {
	l.t.Helper()
	for l.lines.Scan() {
		line := l.lines.Text()
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = name
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			return event, json.RawMessage(text)
		}
	}
	check.OK(l.t, l.lines.Err())
	return "", nil
}

// until reads events up to one that holds a text, and returns it.
func (l *listening) until(event, text string) json.RawMessage {
	l.t.Helper()
	for {
		name, data := l.next()
		if name == event && strings.Contains(string(data), text) {
			return data
		}
		if name == "" {
			l.t.Fatalf("it ended before %s with %s", event, text)
		}
	}
}

// Every event is of the form in the document, which names them all.
func TestEveryEventIsAsTheDocumentSays(t *testing.T) {
	e, _ := up(t, emptyFolder(t))
	api, _ := httpserver.NewAPI("test")
	theLiveEvents.get(e.Process).Routes(api)
	described := api.OpenAPI().Paths["/v1/stream"].Get.Responses["200"].Content[httpserver.EventStream].Schema
	items := described.Extensions["contentSchema"].(*huma.Schema).OneOf
	l := listen(t, e.URL(), "")
	put(t, e, "tides", "Tells when the tide is low.")
	if w := call(e, "", "PUT", "/v1/sources/harbour", `{"kind":"openapi","url":"http://harbour.invalid/openapi.json"}`); w.Code >= 300 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	heard := map[string]bool{}
	for len(heard) < len(items) {
		event, data := l.next()
		if event == "" {
			t.Fatal("it ended")
		}
		of := slices.IndexFunc(items, func(s *huma.Schema) bool { return s.Properties["event"].Enum[0] == event })
		var v any
		if err := json.Unmarshal(data, &v); err != nil || of < 0 {
			t.Fatalf("%s %s: %v", event, data, err)
		}
		result := &huma.ValidateResult{}
		huma.Validate(api.OpenAPI().Components.Schemas, items[of].Properties["data"], huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, result)
		if len(result.Errors) > 0 {
			t.Errorf("%s %s is not of the form in the document: %v", event, data, result.Errors)
		}
		heard[event] = true
	}
}

// A caller hears of what it may find, and no longer than it may call; its tenant alone hears
// of its tools. The history is each tenant's own.
func TestAStreamIsItsCallersOwn(t *testing.T) {
	cfg := emptyFolder(t)
	cfg.Auth.TokensFile = filepath.Join(t.TempDir(), "tokens")
	token := func(tenant, subject string, role identity.Role) string {
		return tokentest.Add(t, cfg.Auth.TokensFile, identity.Caller{Tenant: tenant, Subject: subject, Role: role}, time.Time{})
	}
	admin, other := token("acme", "admin", identity.Admin), token("other", "admin", identity.Admin)
	reader := token("acme", "ann", identity.Reader)
	e, _ := up(t, cfg)
	wantStatus(t, call(e, admin, "PUT", "/v1/grants", `{"version":"0","grants":[{"effect":"allow","action":"find","on":"tag:public","to":"subject:ann"},{"effect":"allow","action":"destroy","on":"*","to":"role:admin"}]}`), http.StatusOK)
	ann, own, others := listen(t, e.URL(), reader), listen(t, e.URL(), admin), listen(t, e.URL(), other)
	for id, tags := range map[string]string{"hidden": `[]`, "shown": `["public"]`} {
		wantStatus(t, call(e, admin, "PUT", "/v1/tools/"+id, `{"name":"`+id+`","description":"Tells when the tide is low.","tags":`+tags+`}`), http.StatusAccepted)
	}
	own.until("tools", `"hidden"`)
	for {
		event, data := ann.next()
		if event != "tools" || strings.Contains(string(data), "hidden") {
			t.Fatalf("a reader hears %s %s", event, data)
		}
		if strings.Contains(string(data), `"shown"`) {
			break
		}
	}
	own.until("sample", `"tools":2`)
	if w := call(e, admin, "GET", "/v1/status/history", ""); !strings.Contains(w.Body.String(), `"tools":2`) || strings.Contains(w.Body.String(), "lag") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := call(e, other, "GET", "/v1/status/history", ""); w.Code != http.StatusOK || strings.Contains(w.Body.String(), `"tools":2`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	check.OK(t, theFences.get(e.Process).Take(t.Context(), tenants.Fence{Tenant: "other", Erasing: true}))
	for event, data := others.next(); event != ""; event, data = others.next() { // it ends
		if event == "tools" {
			t.Fatalf("another tenant hears %s", data)
		}
	}
	check.OK(t, os.WriteFile(cfg.Auth.TokensFile, nil, 0o600))
	for event, _ := own.next(); event != ""; event, _ = own.next() {
	}
}

// A process that is to stop does not wait for those who listen, nor do they see it cut off.
func TestAStopDoesNotWaitForStreams(t *testing.T) {
	e, stop := up(t, emptyFolder(t))
	l := listen(t, e.URL(), "")
	l.until("status", "")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event, _ := l.next(); event != ""; event, _ = l.next() { // an end that is none is an error
		}
	}()
	stop()
	<-ended
}
