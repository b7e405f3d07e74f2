package ingest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// site is a service behind HTTP.
type site struct {
	t   testing.TB
	bus *streamtest.Bus
	s   *Service
	url string
	c   *http.Client

	memory *inflight.Budget // nil: no limit
}

func serve(t testing.TB, cfg Config) *site {
	t.Helper()
	bus := streamtest.NewBus()
	s, _ := start(t, bus, cfg, newWall().now)
	mux := http.NewServeMux()
	Routes(humago.New(mux, huma.DefaultConfig("toolstream", "1")), s)
	out := &site{t: t, bus: bus, s: s}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := r.Header.Get("Test-Tenant"); name != "" {
			r = r.WithContext(identity.With(r.Context(), identity.Caller{Tenant: name, Role: identity.Admin}))
		}
		hold := out.memory.Open(identity.From(r.Context()).Tenant)
		defer hold.Close()
		mux.ServeHTTP(w, r.WithContext(inflight.With(r.Context(), hold)))
	}))
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		boundBuffers(t, c)
		return ctx
	}
	server.Start()
	t.Cleanup(server.Close)
	out.url, out.c = server.URL, server.Client()
	return out
}

// boundBuffers keeps the kernel from taking megabytes that nobody reads.
func boundBuffers(t testing.TB, c net.Conn) {
	conn := c.(*net.TCPConn)
	if err := errors.Join(conn.SetReadBuffer(earlyAnswers), conn.SetWriteBuffer(earlyAnswers)); err != nil {
		t.Error(err)
	}
}

// reply is an answer that was read.
type reply struct {
	*http.Response
	body []byte
}

// do sends a request; headers come as name, value.
func (s *site) do(method, path string, body io.Reader, headers ...string) reply {
	s.t.Helper()
	req := check.Value(http.NewRequestWithContext(s.t.Context(), method, s.url+path, body))(s.t)
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	resp := check.Value(s.c.Do(req))(s.t)
	defer resp.Body.Close()
	data := check.Value(io.ReadAll(resp.Body))(s.t)
	return reply{resp, data}
}

func (s *site) put(id, body string, headers ...string) reply {
	s.t.Helper()
	return s.do(http.MethodPut, "/v1/tools/"+url.PathEscape(id), strings.NewReader(body), headers...)
}

// member returns a member of an answer that is a JSON object.
func (r reply) member(name string) string {
	var m map[string]any
	if json.Unmarshal(r.body, &m) != nil || m[name] == nil {
		return ""
	}
	return fmt.Sprint(m[name])
}

// problem returns the pointer of the first error of a problem, after checking
// that it is one.
func (r reply) problem(t testing.TB) (pointer, detail string) {
	t.Helper()
	var p struct {
		Title  string
		Status int
		Detail string
		Errors []struct{ Location string }
	}
	if err := json.Unmarshal(r.body, &p); err != nil || r.Header.Get("Content-Type") != "application/problem+json" ||
		p.Status != r.StatusCode || p.Title == "" || p.Detail == "" {
		t.Errorf("no problem: %d %s %s", r.StatusCode, r.Header.Get("Content-Type"), r.body)
	}
	if len(p.Errors) > 0 {
		pointer = p.Errors[0].Location
	}
	return pointer, p.Detail
}

const mcpTool = `{"name":"send","description":"Sends a message.","inputSchema":{"type":"object","properties":{"to":{"type":"string"}}}}`

func TestPutTool(t *testing.T) {
	s := serve(t, Config{})
	first := s.put("mail/send", mcpTool)
	if first.StatusCode != http.StatusAccepted || first.member("id") != "mail/send" || first.member("state") != "accepted" {
		t.Fatalf("%d %s", first.StatusCode, first.body)
	}
	again := s.put("mail/send", " "+mcpTool+"\n")
	if again.StatusCode != http.StatusOK || again.member("state") != "unchanged" || again.member("revision") != first.member("revision") {
		t.Errorf("again: %d %s", again.StatusCode, again.body)
	}
	c := newest(t, s.bus, "mail/send")
	if c.Format != "mcp" || c.Provider != "" || string(c.Raw) != mcpTool || c.Tenant != home || c.Kind != schema.KindTool {
		t.Errorf("on the bus: %+v %s", c, c.Raw)
	}
}

func TestPutToolTakesAnyIDAndFormat(t *testing.T) {
	s := serve(t, Config{})
	if r := s.do(http.MethodPut, "/v1/tools/%2E%2E%2Fa", strings.NewReader(mcpTool)); r.member("id") != "../a" {
		t.Errorf("encoded dots: %d %s", r.StatusCode, r.body)
	}
	for id, tc := range map[string]struct{ body, contentType, format string }{
		"天気/.. *>%20?#":  {mcpTool, "application/json", "mcp"},
		"a//b":           {`{"name":"f","parameters":{"type":"object"}}`, "application/json", "function"},
		"yaml":           {"method: GET\npath: /a\noperation:\n  summary: Reads a.\n", "application/yaml", "openapi"},
		"prose":          {"Sends a letter to somebody.", "text/plain; charset=utf-8", "text"},
		"prose/markdown": {"Sends a letter to somebody.", "text/markdown", "text"},
		"form":           {mcpTool, "application/x-www-form-urlencoded", "mcp"},
		"any":            {`{"a":1}`, "application/vnd.acme+json", "json"},
	} {
		r := s.put(id, tc.body, "Content-Type", tc.contentType)
		if r.StatusCode != http.StatusAccepted || r.member("id") != id {
			t.Errorf("%q: %d %s", id, r.StatusCode, r.body)
			continue
		}
		if c := newest(t, s.bus, id); c.Format != tc.format {
			t.Errorf("%q: format %s, want %s", id, c.Format, tc.format)
		}
	}
}

func TestPutToolWithOwnerAndVersion(t *testing.T) {
	s := serve(t, Config{})
	s.do(http.MethodPut, "/v1/tools/a?provider=mail&version=7", strings.NewReader(mcpTool))
	c := newest(t, s.bus, "a")
	if c.Provider != "mail" || c.Source != 7 {
		t.Errorf("%+v", c)
	}
	other := `{"name":"other"}`
	for _, tc := range []struct {
		query, body   string
		status        int
		state, reason string
	}{
		{"provider=mail&version=7", mcpTool, 200, "unchanged", "duplicate"},
		{"provider=mail&version=6", other, 202, "stale", "stale_ignored"},
		{"provider=mail&version=7", other, 409, "", ""},
		{"provider=mail&version=x", other, 422, "", ""},
		{"provider=mail&version=-1", other, 422, "", ""},
		{"provider=%00", other, 422, "", ""},
		{"format=nonsense", other, 422, "", ""},
		{"provider=post&version=8", other, 409, "", ""},
		{"provider=post&version=8&take_over=true", other, 202, "accepted", ""},
		{"provider=post&version=18446744073709551615", other, 202, "accepted", ""},
	} {
		r := s.do(http.MethodPut, "/v1/tools/a?"+tc.query, strings.NewReader(tc.body))
		if r.StatusCode != tc.status || r.member("state") != tc.state || r.member("reason") != tc.reason {
			t.Errorf("%s: %d %s", tc.query, r.StatusCode, r.body)
		}
		if tc.status >= 400 {
			r.problem(t)
		}
	}
}

// The numbers are those of the bad-input catalogue.
func TestPutToolRefuses(t *testing.T) {
	s := serve(t, Config{MaxDocument: 4096})
	bomb := zipped(t, strings.Repeat(" ", 1<<20))
	for name, tc := range map[string]struct {
		body, contentType, encoding string
		status                      int
		detail, pointer             string
	}{
		"1 empty":               {"", "application/json", "", 400, "body is empty", ""},
		"2 not JSON":            {`{"a":`, "application/json", "", 400, "invalid JSON at byte 5", "/a"},
		"3 content type":        {mcpTool, "image/png", "", 415, "application/yaml", ""},
		"3 charset":             {mcpTool, "text/plain; charset=utf-16", "", 415, "UTF-8", ""},
		"4 over the limit":      {`{"a":"` + strings.Repeat("x", 5000) + `"}`, "application/json", "", 413, "4096", ""},
		"5 gzip bomb":           {bomb, "application/json", "gzip", 413, "decompressed size over limit", ""},
		"5 undeclared":          {bomb, "", "", 413, "decompressed size over limit", ""},
		"6 content encoding":    {mcpTool, "application/json", "br", 415, "gzip", ""},
		"6 not gzip":            {mcpTool, "application/json", "gzip", 400, "gzip", ""},
		"7 nested":              {strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), "application/json", "", 400, "nesting too deep", strings.Repeat("/a", 64)},
		"8 duplicate keys":      {`{"name":"a","name":"b"}`, "application/json", "", 400, "duplicate key", "/name"},
		"9 invalid UTF-8":       {"{\"name\":\"\xff\"}", "application/json", "", 400, "invalid UTF-8", "/name"},
		"9 lone surrogate":      {`{"name":"\ud800"}`, "application/json", "", 400, "", "/name"},
		"10 control characters": {`{"name":"a\u0007b"}`, "application/json", "", 422, "", "/name"},
		"36 another tenant":     {`{"name":"a","tenant":"other"}`, "application/json", "", 403, "tenant", "/tenant"},
		"a number":              {"17", "application/json", "", 422, "", ""},
		"several tools":         {`{"tools":[{"name":"a","inputSchema":{}},{"name":"b","inputSchema":{}}]}`, "application/json", "", 422, "/v1/tools:batch", "/tools/1"},
		"several lines":         {mcpTool + "\n" + mcpTool, "application/x-ndjson", "", 422, "/v1/tools:batch", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.put("a", tc.body, "Content-Type", tc.contentType, "Content-Encoding", tc.encoding)
			pointer, detail := r.problem(t)
			if r.StatusCode != tc.status || !strings.Contains(detail, tc.detail) || pointer != inBody(tc.pointer) {
				t.Errorf("%d %s", r.StatusCode, r.body)
			}
		})
	}
	if n := len(s.bus.Messages(events.ToolsRaw)); n != 0 {
		t.Errorf("%d records on the bus", n)
	}
	if r := s.put(strings.Repeat("x", 257), mcpTool); r.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("13 long id: %d %s", r.StatusCode, r.body)
	}
	if r := s.put("a\u202e", mcpTool); r.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("13 format character: %d %s", r.StatusCode, r.body)
	}
}

func zipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	check.Value(io.WriteString(z, text))(t)
	check.OK(t, z.Close())
	return b.String()
}

func TestPutToolZippedAndChunked(t *testing.T) {
	s := serve(t, Config{})
	if r := s.put("a", zipped(t, mcpTool), "Content-Encoding", "gzip"); r.StatusCode != http.StatusAccepted {
		t.Errorf("zipped: %d %s", r.StatusCode, r.body)
	}
	r := s.do(http.MethodPut, "/v1/tools/a", io.MultiReader(strings.NewReader(mcpTool)))
	if r.StatusCode != http.StatusOK {
		t.Errorf("chunked: %d %s", r.StatusCode, r.body)
	}
	long := serve(t, Config{MaxDocument: 1000})
	r = long.do(http.MethodPut, "/v1/tools/a", io.MultiReader(strings.NewReader(`"`+strings.Repeat("x", 2000)+`"`)))
	if r.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("chunked beyond the limit: %d %s", r.StatusCode, r.body)
	}
}

func TestTenantsComeFromTheCredential(t *testing.T) {
	s := serve(t, Config{})
	body := `{"name":"a","tenant":"acme"}`
	if r := s.put("a", body, "Test-Tenant", "acme"); r.StatusCode != http.StatusAccepted {
		t.Errorf("its own: %d %s", r.StatusCode, r.body)
	}
	if c := newest(t, s.bus, "a"); c.Tenant != "acme" {
		t.Errorf("tenant %q", c.Tenant)
	}
	if r := s.put("a", body); r.StatusCode != http.StatusForbidden {
		t.Errorf("another's: %d %s", r.StatusCode, r.body)
	}
}

func TestDeleteTool(t *testing.T) {
	s := serve(t, Config{})
	s.put("a/b", mcpTool)
	for i, want := range []string{"accepted ", "unchanged not_found"} {
		r := s.do(http.MethodDelete, "/v1/tools/a%2Fb", nil)
		if r.StatusCode != http.StatusAccepted || r.member("state")+" "+r.member("reason") != want || r.member("id") != "a/b" {
			t.Errorf("delete %d: %d %s", i, r.StatusCode, r.body)
		}
	}
	if r := s.do(http.MethodDelete, "/v1/tools/never", nil); r.StatusCode != http.StatusAccepted || r.member("reason") != "not_found" {
		t.Errorf("delete of what was never there: %d %s", r.StatusCode, r.body)
	}
	s.do(http.MethodDelete, "/v1/tools/c?version=9", nil)
	if r := s.do(http.MethodPut, "/v1/tools/c?version=8", strings.NewReader(mcpTool)); r.member("state") != "stale" {
		t.Errorf("late: %d %s", r.StatusCode, r.body)
	}
}

func TestProviders(t *testing.T) {
	s := serve(t, Config{})
	body := `{"name":"Mail","description":"Sends mail."}`
	if r := s.do(http.MethodPut, "/v1/providers/mail", strings.NewReader(body)); r.StatusCode != http.StatusAccepted {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	c := newest(t, s.bus, "mail")
	if c.Kind != schema.KindProvider || c.Format != "provider" || string(c.Raw) != body {
		t.Errorf("%+v %s", c, c.Raw)
	}
	if r := s.put("mail", mcpTool); r.StatusCode != http.StatusAccepted {
		t.Errorf("a tool of that id: %d %s", r.StatusCode, r.body)
	}
	if r := s.do(http.MethodDelete, "/v1/providers/mail", nil); r.StatusCode != http.StatusAccepted {
		t.Errorf("delete: %d %s", r.StatusCode, r.body)
	}
	if c := newest(t, s.bus, "mail"); c.Kind != schema.KindProvider || c.Op != events.OpDelete {
		t.Errorf("%+v", c)
	}
	if r := s.put("x", `{"kind":"provider","document":{"name":"x"}}`); r.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a provider among the tools: %d %s", r.StatusCode, r.body)
	}
}

func TestBusDownIsSaidAndARetryGetsThroughOnce(t *testing.T) {
	s := serve(t, Config{RetryAfter: 1500 * time.Millisecond})
	<-s.s.replica.loaded
	s.bus.Fail(onPublish(func(stream.Message) error { return errors.New("down: secret-host:1234") }))
	r := s.put("a", mcpTool)
	if _, detail := r.problem(t); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") != "2" || strings.Contains(detail, "secret") {
		t.Errorf("%d %v %s", r.StatusCode, r.Header, r.body)
	}
	s.bus.Fail(onPublish(func(stream.Message) error { return fmt.Errorf("write: %w", stream.ErrFull) }))
	if r := s.put("a", mcpTool); r.StatusCode != http.StatusInsufficientStorage {
		t.Errorf("full: %d %s", r.StatusCode, r.body)
	}
	s.bus.Fail(nil)
	if r := s.put("a", mcpTool); r.StatusCode != http.StatusAccepted {
		t.Errorf("again: %d %s", r.StatusCode, r.body)
	}
	checkLog(t, s.bus, 1)
}
