// Package export sends spans to where the environment says, as OpenTelemetry's
// specification names its variables: OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_…,
// OTEL_TRACES_SAMPLER, OTEL_PROPAGATORS, OTEL_RESOURCE_ATTRIBUTES, OTEL_BSP_…
// Nothing that a span is about ever waits for that.
package export

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

	"github.com/toolstream/toolstream/internal/telemetry"
)

// Deps are what traces are made with.
type Deps struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Traces is where spans go. Nil and the zero value send none.
type Traces struct {
	provider   *sdktrace.TracerProvider // nil: none are wanted
	propagator propagation.TextMapPropagator
}

// Wanted reports whether the environment asks for spans: it names an exporter, or
// an endpoint, and does not switch them off.
func Wanted() bool {
	exporter := os.Getenv("OTEL_TRACES_EXPORTER")
	if exporter == "none" || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	return exporter != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Open returns traces as the environment says. It sends nothing yet, so it does
// not fail for a collector that is away.
func Open(ctx context.Context, from telemetry.Source, d Deps) (*Traces, error) {
	if !Wanted() {
		return &Traces{}, nil
	}
	exporter, err := newExporter(ctx)
	if err != nil {
		return nil, err
	}
	return open(ctx, from, d, exporter)
}

func newExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
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

func open(ctx context.Context, from telemetry.Source, d Deps, exporter sdktrace.SpanExporter) (*Traces, error) {
	of, err := from.Resource(ctx)
	if err != nil {
		return nil, err
	}
	return &Traces{
		provider:   sdktrace.NewTracerProvider(sdktrace.WithBatcher(newCounting(exporter, d)), sdktrace.WithResource(of)),
		propagator: autoprop.NewTextMapPropagator(),
	}, nil
}

// Provider makes the spans; nil where none are wanted.
func (t *Traces) Provider() trace.TracerProvider {
	if t == nil || t.provider == nil {
		return nil // and not an interface that holds nil
	}
	return t.provider
}

// Propagator reads and writes the context of a trace in headers of HTTP, nothing
// where no spans are wanted.
func (t *Traces) Propagator() propagation.TextMapPropagator {
	if t == nil || t.propagator == nil {
		return propagation.NewCompositeTextMapPropagator()
	}
	return t.propagator
}

// closeTimeout is how long the spans that wait have at the end.
const closeTimeout = 5 * time.Second

// Close sends what waits, for at most five seconds.
func (t *Traces) Close(ctx context.Context) {
	if t == nil || t.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // what was lost is counted and logged
}
