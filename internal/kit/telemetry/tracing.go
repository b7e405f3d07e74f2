// Package tracing carries the context of a trace through toolstream, and begins
// spans where there is a trace to begin them in.
//
// A context with a span is enough to begin another span: the provider is that span's
// own. So only the places where work enters the process (HTTP, NATS, the bus) take a
// provider. Without a provider there are no spans, and beginning one costs a look into
// the context.
//
// Spans hold ids, counts, names of models and stable words for what went wrong;
// never the text of a document, of a query or of an error, which may repeat one.
package tracing

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

// Begin begins a span within that of ctx, with a context that has it. If ctx has
// no span, or one that is not recorded, the new span is not recorded either.
func Begin(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, parent
	}
	return parent.TracerProvider().Tracer(Scope).Start(ctx, name, options...)
}

// Ask is Begin for a call of another process.
func Ask(ctx context.Context, name string) (context.Context, trace.Span) {
	return Begin(ctx, name, trace.WithSpanKind(trace.SpanKindClient))
}

// Join begins a span in the trace that headers name, linked to the span of ctx.
// Where they name none, or the trace of ctx, it is Begin.
func Join(ctx context.Context, headers map[string]string, name string) (context.Context, trace.Span) {
	here, there := trace.SpanFromContext(ctx), Extract(headers)
	if !there.IsValid() || there.TraceID() == here.SpanContext().TraceID() {
		return Begin(ctx, name)
	}
	return here.TracerProvider().Tracer(Scope).Start(trace.ContextWithRemoteSpanContext(ctx, there), name,
		trace.WithLinks(trace.Link{SpanContext: here.SpanContext()}))
}

// End ends a span. An error is told by its kind alone.
func End(span trace.Span, err error) {
	if err != nil {
		Fail(span, Kind(err))
	}
	span.End()
}

// Fail notes that what a span is about went wrong, by a stable word for why.
func Fail(span trace.Span, why string) {
	if span.IsRecording() {
		span.SetStatus(codes.Error, why)
		span.SetAttributes(attribute.String("error.type", why))
	}
}

// Kind is a word for an error that says nothing of what it holds: how a context
// ended, else the type of the innermost error.
func Kind(err error) string {
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

// Inject puts the span of ctx into the headers of a record or the like, in the
// form of https://www.w3.org/TR/trace-context, in place of what is there. Without
// a span they stay as they are.
func Inject(ctx context.Context, headers map[string]string) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return
	}
	delete(headers, events.HeaderTracestate)
	propagation.TraceContext{}.Inject(ctx, propagation.MapCarrier(headers))
}

// Extract returns the span that headers name; one that is not valid where they
// name none.
func Extract(headers map[string]string) trace.SpanContext {
	if headers[events.HeaderTraceparent] == "" {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier(headers)))
}

// Without returns a copy of headers that names no span: for what is put on its way
// again, which is no part of the trace that it came with.
func Without(headers map[string]string) map[string]string {
	out := make(map[string]string, len(headers))
	maps.Copy(out, headers)
	delete(out, events.HeaderTraceparent)
	delete(out, events.HeaderTracestate)
	return out
}

// Of returns ctx with the span that headers name, for what is logged about them.
func Of(ctx context.Context, headers map[string]string) context.Context {
	if sc := Extract(headers); sc.IsValid() {
		return trace.ContextWithRemoteSpanContext(ctx, sc)
	}
	return ctx
}
