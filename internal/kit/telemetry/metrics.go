package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/toolstream/toolstream/internal/kit/lifecycle"
)

// MetricDeps are the dependencies of a sender.
type MetricDeps struct {
	Gatherer prometheus.Gatherer
	Logger   *slog.Logger
}

// MetricsWanted reports whether the environment asks for metrics to be sent: it names the
// exporter otlp, alone or among others, or an endpoint for metrics. An endpoint
// for everything is not enough: metrics can be collected already, and are not to
// be there twice because traces were switched on. It fails for an exporter that is
// not known.
func MetricsWanted() (bool, error) {
	exporters := strings.Split(os.Getenv("OTEL_METRICS_EXPORTER"), ",")
	for i, name := range exporters {
		exporters[i] = strings.TrimSpace(name)
		if !slices.Contains([]string{"", "otlp", "prometheus", "none"}, exporters[i]) {
			return false, fmt.Errorf("OTEL_METRICS_EXPORTER: %q is not otlp, prometheus or none", exporters[i])
		}
	}
	named := slices.Contains(exporters, "otlp") || exporters[0] == "" && os.Getenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") != ""
	return named && !strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true"), nil
}

// MetricSender sends metrics, every minute unless the environment sets another interval.
type MetricSender struct {
	exporter metric.Exporter
	producer metric.Producer
	resource *resource.Resource
}

// NewMetricSender returns a sender configured by the environment. It sends nothing yet, so it does
// not fail if the collector is away.
func NewMetricSender(ctx context.Context, from Source, d MetricDeps) (*MetricSender, error) {
	exporter, err := newMetricExporter(ctx)
	if err != nil {
		return nil, err
	}
	of, err := from.Resource(ctx)
	if err != nil {
		return nil, err
	}
	return &MetricSender{
		exporter: &loggingExporter{Exporter: exporter, log: d.Logger},
		producer: bridge.NewMetricProducer(bridge.WithGatherer(d.Gatherer)),
		resource: of,
	}, nil
}

func newMetricExporter(ctx context.Context) (metric.Exporter, error) {
	protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
	switch protocol {
	case "http/protobuf":
		return otlpmetrichttp.New(ctx)
	case "grpc":
		return otlpmetricgrpc.New(ctx)
	}
	return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not http/protobuf or grpc", protocol)
}

// Run sends until ctx ends, and then once more, for at most five seconds.
func (s *MetricSender) Run(ctx context.Context) error {
	reader := metric.NewPeriodicReader(s.exporter, metric.WithProducer(s.producer))
	provider := metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(s.resource))
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = provider.Shutdown(ctx) // the exporter has logged its failures
	return nil
}

// loggingExporter logs when sending begins to fail, and when it goes on.
type loggingExporter struct {
	metric.Exporter
	log    *slog.Logger
	health lifecycle.Health
}

// Export never fails for the SDK, which would write errors to standard error.
func (e *loggingExporter) Export(ctx context.Context, data *metricdata.ResourceMetrics) error {
	err := e.Exporter.Export(ctx, data)
	e.health.LogChange(ctx, e.log, err, "metrics cannot be sent to the collector, Prometheus can still collect them", "metrics are sent to the collector again")
	return nil
}
