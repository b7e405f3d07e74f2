package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/events"
)

const (
	theirs = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	theirT = "4bf92f3577b34da6a3ce929d0e0e4736"
)

// root returns a context with a span, and what is recorded.
func root(t *testing.T, sampler sdktrace.Sampler) (context.Context, *tracetest.SpanRecorder) {
	t.Helper()
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans), sdktrace.WithSampler(sampler))
	ctx, span := provider.Tracer(telemetry.Scope).Start(t.Context(), "root")
	t.Cleanup(func() { span.End() })
	return ctx, spans
}

func TestSpansBeginWithinOthers(t *testing.T) {
	ctx, spans := root(t, sdktrace.AlwaysSample())
	_, span := telemetry.StartClientSpan(ctx, "ask")
	telemetry.EndSpan(span, fmt.Errorf("a secret: %w", context.DeadlineExceeded))
	got := spans.Ended()[0]
	if got.Parent().SpanID() != trace.SpanContextFromContext(ctx).SpanID() || got.SpanKind() != trace.SpanKindClient {
		t.Errorf("parent %v, kind %v", got.Parent(), got.SpanKind())
	}
	if got.Status().Description != "timeout" || strings.Contains(fmt.Sprint(got.Attributes(), got.Events()), "secret") {
		t.Errorf("status %v, attributes %v", got.Status(), got.Attributes())
	}
}

func TestWithoutARecordedSpanNoneBegins(t *testing.T) {
	unsampled, spans := root(t, sdktrace.NeverSample())
	for _, ctx := range []context.Context{t.Context(), unsampled} {
		within, span := telemetry.StartSpan(ctx, "none")
		if within != ctx || span.IsRecording() {
			t.Errorf("%v", span)
		}
		telemetry.EndSpan(span, errors.New("harmless"))
	}
	if n := len(spans.Ended()); n != 0 {
		t.Errorf("%d spans", n)
	}
	if n := testing.AllocsPerRun(100, func() { _, span := telemetry.StartSpan(context.Background(), "none"); telemetry.EndSpan(span, nil) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func TestEventsAreDealtWithInTheirOwnTrace(t *testing.T) {
	ctx, _ := root(t, sdktrace.AlwaysSample())
	here := trace.SpanContextFromContext(ctx)
	for name, tc := range map[string]struct {
		headers map[string]string
		trace   string
		links   int
	}{
		"its own":  {map[string]string{events.HeaderTraceparent: theirs}, theirT, 1},
		"the same": {map[string]string{events.HeaderTraceparent: "00-" + here.TraceID().String() + "-00f067aa0ba902b7-01"}, here.TraceID().String(), 0},
		"none":     {map[string]string{}, here.TraceID().String(), 0},
		"nonsense": {map[string]string{events.HeaderTraceparent: "00-zz"}, here.TraceID().String(), 0},
	} {
		_, span := telemetry.JoinSpan(ctx, tc.headers, "event")
		span.End()
		if got := span.SpanContext().TraceID().String(); got != tc.trace {
			t.Errorf("%s: it is in trace %s, want %s", name, got, tc.trace)
		}
		if got := span.(sdktrace.ReadOnlySpan); len(got.Links()) != tc.links {
			t.Errorf("%s: links %v", name, got.Links())
		}
	}
	// Where no spans are made, the context of the event still goes on.
	quiet, _ := telemetry.JoinSpan(t.Context(), map[string]string{events.HeaderTraceparent: theirs}, "event")
	headers := map[string]string{}
	telemetry.Inject(quiet, headers)
	if headers[events.HeaderTraceparent] != theirs {
		t.Errorf("headers %v", headers)
	}
}

func TestHeadersAreReplacedAsAWhole(t *testing.T) {
	ctx, _ := root(t, sdktrace.AlwaysSample())
	headers := map[string]string{events.HeaderTraceparent: theirs, events.HeaderTracestate: "of=theirs", events.HeaderRevision: "1"}
	telemetry.Inject(t.Context(), headers)
	if headers[events.HeaderTraceparent] != theirs {
		t.Errorf("without a span: %v", headers)
	}
	telemetry.Inject(ctx, headers)
	want := trace.SpanContextFromContext(ctx)
	if got := telemetry.Extract(headers); got.SpanID() != want.SpanID() || got.TraceID() != want.TraceID() {
		t.Errorf("%v, want %v", got, want)
	}
	if _, there := headers[events.HeaderTracestate]; there || headers[events.HeaderRevision] != "1" {
		t.Errorf("%v", headers)
	}
}

func TestLogsNameTheTrace(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(telemetry.TraceLogs(slog.NewTextHandler(&out, nil))).With("stage", "s")
	log.InfoContext(t.Context(), "without")
	log.InfoContext(telemetry.Linked(t.Context(), map[string]string{events.HeaderTraceparent: theirs}), "with")
	lines := strings.Split(out.String(), "\n")
	if strings.Contains(lines[0], "trace_id") || !strings.Contains(lines[1], "stage=s trace_id="+theirT+" span_id=00f067aa0ba902b7") {
		t.Errorf("%s", out.String())
	}
}

func FuzzExtract(f *testing.F) {
	f.Add(theirs, "a=b")
	f.Add("00-0-0-0", "")
	f.Add("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", "=,=")
	f.Fuzz(func(t *testing.T, parent, state string) {
		headers := map[string]string{events.HeaderTraceparent: parent, events.HeaderTracestate: state}
		before := maps.Clone(headers)
		sc := telemetry.Extract(headers)
		if !maps.Equal(headers, before) {
			t.Errorf("%v became %v", before, headers)
		}
		if !sc.IsValid() {
			return
		}
		again := map[string]string{}
		telemetry.Inject(telemetry.Linked(context.Background(), headers), again)
		if got := telemetry.Extract(again); !got.Equal(sc) {
			t.Errorf("%v became %v", sc, got)
		}
	})
}
