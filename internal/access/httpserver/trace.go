package httpserver

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

// TraceHeader gives a caller the trace of its request.
const TraceHeader = "Trace-Id"

// trace makes a span of every request to the API.
func trace(traces *telemetry.Traces, mux *http.ServeMux, next http.Handler) http.Handler {
	if traces.Provider() == nil {
		return next
	}
	tracer, propagator := traces.Provider().Tracer(telemetry.Scope), traces.Propagator()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := mux.Handler(r)
		if !strings.Contains(pattern, " /v1/") {
			next.ServeHTTP(w, r) // health checks, metrics and unknown paths
			return
		}
		ctx := propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		_, route, _ := strings.Cut(pattern, " ")
		ctx, span := tracer.Start(ctx, pattern, oteltrace.WithSpanKind(oteltrace.SpanKindServer),
			oteltrace.WithAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.HTTPRoute(route)))
		defer span.End()
		w.Header().Set(TraceHeader, span.SpanContext().TraceID().String())
		answer := &statusWriter{ResponseWriter: w}
		next.ServeHTTP(answer, r.WithContext(ctx))
		code := max(answer.code, http.StatusOK)
		span.SetAttributes(semconv.HTTPResponseStatusCode(code))
		if code >= http.StatusInternalServerError {
			telemetry.FailSpan(span, http.StatusText(code))
		}
	})
}
