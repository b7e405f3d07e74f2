// Package tracingtest keeps the spans that a test makes.
package tracingtest

import (
	"context"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

// Spans are the spans of a test.
type Spans struct {
	Provider trace.TracerProvider
	recorder *tracetest.SpanRecorder
}

// Record returns a recorder of spans that works until the test ends.
func Record(t testing.TB) *Spans {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	t.Cleanup(func() {
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &Spans{provider, recorder}
}

// Root returns a context with a span, which the caller must end.
func (s *Spans) Root(ctx context.Context) (context.Context, trace.Span) {
	return s.Provider.Tracer(telemetry.Scope).Start(ctx, "root")
}

// Ended returns the spans that have ended, in that order.
func (s *Spans) Ended() []sdktrace.ReadOnlySpan { return s.recorder.Ended() }

// Named returns the spans with a name.
func (s *Spans) Named(name string) []sdktrace.ReadOnlySpan {
	return slices.DeleteFunc(s.Ended(), func(span sdktrace.ReadOnlySpan) bool { return span.Name() != name })
}

// Within returns the names of the ended spans of one trace below a span, in order of
// start. Brackets hold the spans below each span.
func (s *Spans) Within(of trace.SpanContext) string {
	all := s.Ended()
	slices.SortStableFunc(all, func(a, b sdktrace.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	var names []string
	for _, span := range all {
		if span.Parent().SpanID() != of.SpanID() || span.SpanContext().TraceID() != of.TraceID() {
			continue
		}
		name := span.Name()
		if below := s.Within(span.SpanContext()); below != "" {
			name += " [" + below + "]"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// Text returns all content of the spans except times and ids, so that a test can
// check for leaks.
func (s *Spans) Text() string {
	var b strings.Builder
	for _, span := range s.Ended() {
		b.WriteString(span.Name() + " " + span.Status().Description + "\n")
		for _, kv := range span.Attributes() {
			b.WriteString(kv.Value.String() + "\n")
		}
		for _, e := range span.Events() {
			b.WriteString(e.Name + "\n")
			for _, kv := range e.Attributes {
				b.WriteString(kv.Value.String() + "\n")
			}
		}
	}
	return b.String()
}
