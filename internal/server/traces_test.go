package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/httpserver"
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
	e.handler.ServeHTTP(w, r)
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
	cfg, err := config.Load("", map[string]any{"data": t.TempDir(), "listen": "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestADocumentAndASearchAreFollowed(t *testing.T) {
	c := exporting(t)
	e, _ := up(t, emptyFolder(t))
	if w := request(t, e, putTrace, "PUT", "/v1/tools/tides", `{"name":"tides","description":"Tells when the tide is low."}`); w.Code != http.StatusAccepted {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	await(t, func() bool { return indexed(e, "tides") })
	if w := request(t, e, searchTrace, "POST", "/v1/search", `{"query":"low tide","rerank":"multi"}`); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
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
	w := e.call("GET", "/v1/tools", "")
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
		return !strings.Contains(e.call("GET", "/metrics", "").Body.String(), "\ntoolstream_spans_lost_total 0\n")
	})
	stop()
}
