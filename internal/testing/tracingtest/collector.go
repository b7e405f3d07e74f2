package tracingtest

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector takes spans over OTLP, as protobuf over HTTP, and keeps them.
type Collector struct {
	URL string

	mu    sync.Mutex
	spans []Span          // guarded by mu
	text  strings.Builder // guarded by mu
}

// Span is a span that a collector received. Ids are in hexadecimal.
type Span struct {
	Service, Name     string
	Trace, ID, Parent string
	Linked            []string // traces
	Failed            bool
	Begin             uint64            // in nanoseconds since 1970
	Attributes        map[string]string // as text
}

// Collect starts a collector on loopback that works until the test ends.
func Collect(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// Environment returns the KEY=VALUE variables that make a process send its spans to
// the collector without delay.
func (c *Collector) Environment() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=100"}
}

// ServeHTTP receives exported spans.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/traces" {
		http.NotFound(w, r)
		return
	}
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	raw, err := io.ReadAll(body)
	var sent collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(raw, &sent)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.keep(&sent)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *Collector) keep(sent *collector.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.WriteString(sent.String())
	for _, of := range sent.GetResourceSpans() {
		service := texts(of.GetResource().GetAttributes())["service.name"]
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				span := Span{
					Service: service, Name: s.GetName(),
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
					Failed: s.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR,
					Begin:  s.GetStartTimeUnixNano(), Attributes: texts(s.GetAttributes()),
				}
				for _, l := range s.GetLinks() {
					span.Linked = append(span.Linked, hex.EncodeToString(l.GetTraceId()))
				}
				c.spans = append(c.spans, span)
			}
		}
	}
}

func texts(attributes []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range attributes {
		if s, ok := kv.GetValue().GetValue().(*common.AnyValue_StringValue); ok {
			out[kv.GetKey()] = s.StringValue
			continue
		}
		out[kv.GetKey()] = kv.GetValue().String()
	}
	return out
}

// Spans returns all received spans in order of start.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := slices.Clone(c.spans)
	slices.SortStableFunc(out, func(a, b Span) int { return int(int64(a.Begin - b.Begin)) })
	return out
}

// Text returns everything received, as text, so that a test can check for leaks.
func (c *Collector) Text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// Below returns the received spans of a trace below a span, one per line with its
// service, indented by depth.
func (c *Collector) Below(trace, parent string) string {
	var b strings.Builder
	below(&b, c.Spans(), trace, parent, "")
	return b.String()
}

func below(b *strings.Builder, spans []Span, trace, parent, indent string) {
	for _, s := range spans {
		if s.Trace == trace && s.Parent == parent {
			b.WriteString(indent + s.Service + ": " + s.Name + "\n")
			below(b, spans, trace, s.ID, indent+"  ")
		}
	}
}
