// Package telemetry sends spans and metrics to an OpenTelemetry collector, configured by the
// environment variables of OpenTelemetry's specification (OTEL_TRACES_EXPORTER,
// OTEL_METRICS_EXPORTER, OTEL_EXPORTER_OTLP_…, OTEL_BSP_…, OTEL_RESOURCE_ATTRIBUTES). Nothing ever
// waits for the collector. The metrics are the same that Prometheus can scrape.
package telemetry

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// Source is a process that sends.
type Source struct {
	Service string // unless OTEL_SERVICE_NAME names another
	Version string
}

// Resource returns the attributes of all spans and metrics of the source, with the host and
// OTEL_RESOURCE_ATTRIBUTES. It fails if these cannot be read.
func (s Source) Resource(ctx context.Context) (*resource.Resource, error) {
	of, err := resource.New(ctx,
		resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(semconv.ServiceName(s.Service), semconv.ServiceVersion(s.Version)),
		resource.WithFromEnv(), // last: it has the last word
	)
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return of, nil
}
