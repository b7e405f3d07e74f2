package telemetry

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/pkg/events"
)

// Scope is the name under which all spans are made.
const Scope = "github.com/toolstream/toolstream"

// StartSpan starts a child of the span of ctx, and returns it with its context. Without a recorded
// parent, the new span is not recorded either.
func StartSpan(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, parent
	}
	return parent.TracerProvider().Tracer(Scope).Start(ctx, name, options...)
}

// StartClientSpan is StartSpan for a call of another process.
func StartClientSpan(ctx context.Context, name string) (context.Context, trace.Span) {
	return StartSpan(ctx, name, trace.WithSpanKind(trace.SpanKindClient))
}

// JoinSpan starts a span in the trace that headers name, linked to the span of ctx. If they name no
// trace, or the trace of ctx, it is StartSpan.
func JoinSpan(ctx context.Context, headers map[string]string, name string) (context.Context, trace.Span) {
	here, there := trace.SpanFromContext(ctx), Extract(headers)
	if !there.IsValid() || there.TraceID() == here.SpanContext().TraceID() {
		return StartSpan(ctx, name)
	}
	return here.TracerProvider().Tracer(Scope).Start(trace.ContextWithRemoteSpanContext(ctx, there), name,
		trace.WithLinks(trace.Link{SpanContext: here.SpanContext()}))
}

// EndSpan ends a span. Of an error it records only the kind.
func EndSpan(span trace.Span, err error) {
	if err != nil {
		FailSpan(span, ErrorKind(err))
	}
	span.End()
}

// FailSpan marks a span as failed, with a stable word as the reason.
func FailSpan(span trace.Span, why string) {
	if span.IsRecording() {
		span.SetStatus(codes.Error, why)
		span.SetAttributes(attribute.String("error.type", why))
	}
}

// ErrorKind is a word for an error that reveals none of its text: the context's outcome, otherwise the
// type of the innermost error.
func ErrorKind(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return fmt.Sprintf("%T", err)
}

// Inject puts the span of ctx into the headers of a record or the like, in the form of
// https://www.w3.org/TR/trace-context, and replaces an earlier one. Without a span the headers
// stay as they are.
func Inject(ctx context.Context, headers map[string]string) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return
	}
	delete(headers, events.HeaderTracestate)
	propagation.TraceContext{}.Inject(ctx, propagation.MapCarrier(headers))
}

// Extract returns the span in the headers; an invalid one if the headers have no span.
func Extract(headers map[string]string) trace.SpanContext {
	if headers[events.HeaderTraceparent] == "" {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier(headers)))
}

// WithoutTrace returns a copy of headers without the span, for records that are published again:
// they are not part of the trace that they came with.
func WithoutTrace(headers map[string]string) map[string]string {
	out := make(map[string]string, len(headers))
	maps.Copy(out, headers)
	delete(out, events.HeaderTraceparent)
	delete(out, events.HeaderTracestate)
	return out
}

// Linked returns ctx with the span in the headers, for log lines about their record.
func Linked(ctx context.Context, headers map[string]string) context.Context {
	if sc := Extract(headers); sc.IsValid() {
		return trace.ContextWithRemoteSpanContext(ctx, sc)
	}
	return ctx
}
