// Package otlp sends what Prometheus could collect to an OpenTelemetry collector,
// as the environment says in the variables of OpenTelemetry's specification:
// OTEL_METRICS_EXPORTER, OTEL_EXPORTER_OTLP_…, OTEL_METRIC_EXPORT_INTERVAL,
// OTEL_RESOURCE_ATTRIBUTES. There is one source, so that both ways say the same.
package otlp

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/toolstream/toolstream/internal/health"
	"github.com/toolstream/toolstream/internal/telemetry"
)

// Deps are what a sender works with.
type Deps struct {
	Gatherer prometheus.Gatherer
	Logger   *slog.Logger
}

// Wanted reports whether the environment asks for metrics to be sent: it names the
// exporter otlp, alone or among others, or an endpoint for metrics. An endpoint
// for everything is not enough: metrics can be collected already, and are not to
// be there twice because traces were switched on. It fails for an exporter that is
// not known.
func Wanted() (bool, error) {
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

// Sender sends metrics, every minute unless the environment says otherwise.
type Sender struct {
	exporter metric.Exporter
	producer metric.Producer
	resource *resource.Resource
}

// New returns a sender as the environment says. It sends nothing yet, so it does
// not fail for a collector that is away.
func New(ctx context.Context, from telemetry.Source, d Deps) (*Sender, error) {
	exporter, err := newExporter(ctx)
	if err != nil {
		return nil, err
	}
	of, err := from.Resource(ctx)
	if err != nil {
		return nil, err
	}
	return &Sender{
		exporter: &loggingExporter{Exporter: exporter, log: d.Logger},
		producer: bridge.NewMetricProducer(bridge.WithGatherer(d.Gatherer)),
		resource: of,
	}, nil
}

func newExporter(ctx context.Context) (metric.Exporter, error) {
	protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
	switch protocol {
	case "http/protobuf":
		return otlpmetrichttp.New(ctx)
	case "grpc":
		return otlpmetricgrpc.New(ctx)
	}
	return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not http/protobuf or grpc", protocol)
}

// closeTimeout is how long the last figures may take.
const closeTimeout = 5 * time.Second

// Run sends until ctx ends, and then what there is once more, for at most five
// seconds.
func (s *Sender) Run(ctx context.Context) error {
	reader := metric.NewPeriodicReader(s.exporter, metric.WithProducer(s.producer))
	provider := metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(s.resource))
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = provider.Shutdown(ctx) // what could not be sent was logged
	return nil
}

// loggingExporter logs when sending begins to fail, and when it goes on.
type loggingExporter struct {
	metric.Exporter
	log    *slog.Logger
	health health.State
}

// Export never fails for the SDK, which would write errors to standard error.
func (e *loggingExporter) Export(ctx context.Context, data *metricdata.ResourceMetrics) error {
	err := e.Exporter.Export(ctx, data)
	e.health.Note(ctx, e.log, err, "metrics cannot be sent to the collector, Prometheus can still collect them", "metrics are sent to the collector again")
	return nil
}
