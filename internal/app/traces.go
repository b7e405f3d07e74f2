package app

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/telemetry"
	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/internal/tracing/export"
)

// openTraces lets spans go where the environment says, if it does.
func (b *base) openTraces(ctx context.Context, names ...string) (err error) {
	b.traces, err = export.Open(ctx, b.source(names), export.Deps{Logger: b.log, Registerer: b.metrics})
	return err
}

// source says whose spans and figures they are.
func (b *base) source(names []string) telemetry.Source {
	return telemetry.Source{Service: "toolstream-" + strings.Join(names, "-"), Version: b.version}
}

// traceHeader tells a caller the trace of its request, to be found again by it.
const traceHeader = "Trace-Id"

// traced makes a span of every request that a service answers.
func (b *base) traced(mux *http.ServeMux, next http.Handler) http.Handler {
	if b.traces.Provider() == nil {
		return next
	}
	tracer, propagator := b.traces.Provider().Tracer(tracing.Scope), b.traces.Propagator()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := mux.Handler(r)
		if !strings.Contains(pattern, " /v1/") {
			next.ServeHTTP(w, r) // what machines ask every few seconds, and what does not exist
			return
		}
		ctx := propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		_, route, _ := strings.Cut(pattern, " ")
		ctx, span := tracer.Start(ctx, pattern, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.HTTPRoute(route)))
		defer span.End()
		w.Header().Set(traceHeader, span.SpanContext().TraceID().String())
		answer := &answered{ResponseWriter: w, code: http.StatusOK}
		next.ServeHTTP(answer, r.WithContext(ctx))
		span.SetAttributes(semconv.HTTPResponseStatusCode(answer.code))
		if answer.code >= http.StatusInternalServerError {
			tracing.Fail(span, http.StatusText(answer.code))
		}
	})
}

// answered remembers the status of an answer.
type answered struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (a *answered) WriteHeader(code int) {
	if code >= http.StatusOK { // others are on the way to an answer
		a.code = code
	}
	a.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }
