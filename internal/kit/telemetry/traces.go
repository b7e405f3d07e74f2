package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/propagators/autoprop"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// TraceDeps are the dependencies of Traces.
type TraceDeps struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Traces sends spans. Nil and the zero value send nothing.
type Traces struct {
	provider   *sdktrace.TracerProvider // nil: off
	propagator propagation.TextMapPropagator
}

// TracesWanted reports whether the environment asks for spans: it names an exporter, or
// an endpoint, and does not switch them off.
func TracesWanted() bool {
	exporter := os.Getenv("OTEL_TRACES_EXPORTER")
	if exporter == "none" || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	return exporter != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// OpenTraces returns traces configured by the environment. It sends nothing yet, so it does not
// fail if the collector is away.
func OpenTraces(ctx context.Context, from Source, d TraceDeps) (*Traces, error) {
	if !TracesWanted() {
		return &Traces{}, nil
	}
	exporter, err := newSpanExporter(ctx)
	if err != nil {
		return nil, err
	}
	return openTraces(ctx, from, d, exporter)
}

func newSpanExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	switch name := os.Getenv("OTEL_TRACES_EXPORTER"); name {
	case "", "otlp":
	case "console":
		return stdouttrace.New()
	default:
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER: %q is not otlp, console or none", name)
	}
	switch protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")); protocol {
	case "", "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not http/protobuf or grpc", protocol)
	}
}

func openTraces(ctx context.Context, from Source, d TraceDeps, exporter sdktrace.SpanExporter) (*Traces, error) {
	of, err := from.Resource(ctx)
	if err != nil {
		return nil, err
	}
	return &Traces{
		provider:   sdktrace.NewTracerProvider(sdktrace.WithBatcher(newCountingExporter(exporter, d)), sdktrace.WithResource(of)),
		propagator: autoprop.NewTextMapPropagator(),
	}, nil
}

// Provider makes the spans. It is nil if tracing is off.
func (t *Traces) Provider() trace.TracerProvider {
	if t == nil || t.provider == nil {
		return nil // and not an interface that holds nil
	}
	return t.provider
}

// Propagator reads and writes the context of a trace in headers of HTTP, and does nothing if
// tracing is off.
func (t *Traces) Propagator() propagation.TextMapPropagator {
	if t == nil || t.propagator == nil {
		return propagation.NewCompositeTextMapPropagator()
	}
	return t.propagator
}

// closeTimeout limits how long the last spans and metrics may take.
const closeTimeout = 5 * time.Second

// Close sends the queued spans, for at most five seconds.
func (t *Traces) Close(ctx context.Context) {
	if t == nil || t.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // lost spans are counted and logged
}
