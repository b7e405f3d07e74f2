package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/tracingtest"
)

// The traces of two callers, and the spans within which they call.
const (
	putTrace    = "00000000000000000000000000000a01"
	searchTrace = "00000000000000000000000000000a02"
	callerSpan  = "00000000000000b1"
)

// exporting lets this process send spans to a collector.
func exporting(t *testing.T) *tracingtest.Collector {
	t.Helper()
	c := tracingtest.Collect(t)
	for _, variable := range c.Environment() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	return c
}

func request(t *testing.T, e *Embedded, trace, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, local+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("traceparent", "00-"+trace+"-"+callerSpan+"-01")
	theHTTP.get(e.Process).ServeHTTP(w, r)
	if got := w.Header().Get(httpserver.TraceHeader); got != trace {
		t.Errorf("%s %s: the answer names trace %q", method, path, got)
	}
	return w
}

// local is how a process on loopback is called.
const local = "http://localhost"

// emptyFolder are the settings of a process that begins with nothing.
func emptyFolder(t *testing.T) config.Config {
	t.Helper()
	return check.Value(config.Load("", map[string]any{"data": t.TempDir(), "listen": "127.0.0.1:0"}))(t)
}

func TestADocumentAndASearchAreFollowed(t *testing.T) {
	c := exporting(t)
	e, _ := up(t, emptyFolder(t))
	wantStatus(t, request(t, e, putTrace, "PUT", "/v1/tools/tides", `{"name":"tides","description":"Tells when the tide is low."}`), http.StatusAccepted)
	await(t, func() bool { return indexed(e, "tides") })
	wantStatus(t, request(t, e, searchTrace, "POST", "/v1/search", `{"query":"low tide","rerank":"multi"}`), http.StatusOK)
	for trace, want := range map[string]string{putTrace: `
toolstream-embedded: PUT /v1/tools/{id}
  toolstream-embedded: accept
    toolstream-embedded: send tools.raw
    toolstream-embedded: standardizer process tools.raw
      toolstream-embedded: embedder process tools.standardized
        toolstream-embedded: index-writer process tools.embedded
`, searchTrace: `
toolstream-embedded: POST /v1/search
  toolstream-embedded: search
    toolstream-embedded: wait
    toolstream-embedded: embed
      toolstream-embedded: embeddings
    toolstream-embedded: index
      toolstream-embedded: score fields
      toolstream-embedded: suppliers
    toolstream-embedded: answer
      toolstream-embedded: fuse
      toolstream-embedded: trainer-searches process searches
`} {
		// The trainer hears of a search once its answer is given.
		got := ""
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("trace %s is%swant%s", trace, got, want)
			}
		})
		await(t, func() bool { got = "\n" + c.Below(trace, callerSpan); return len(got) >= len(want) })
		if got != want {
			t.Fail()
		}
	}
}

func TestWithoutTracesNothingIsAdded(t *testing.T) {
	e, _ := up(t, emptyFolder(t))
	w := call(e, "", "GET", "/v1/tools", "")
	if got := w.Header().Get(httpserver.TraceHeader); got != "" {
		t.Errorf("the answer names trace %q", got)
	}
}

// A collector that is away takes no time from anybody, and does not keep the
// process from ending.
func TestACollectorMayBeAway(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	e, stop := up(t, emptyFolder(t))
	put(t, e, "tides", "Tells when the tide is low.")
	await(t, func() bool { return indexed(e, "tides") })
	await(t, func() bool {
		return !strings.Contains(call(e, "", "GET", "/metrics", "").Body.String(), "\ntoolstream_spans_lost_total 0\n")
	})
	stop()
}
