// Package telemetry says whose spans and figures they are that a process sends.
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

// Resource returns the source as spans and figures carry it, with the host and with
// what the environment adds (OTEL_RESOURCE_ATTRIBUTES), which it fails for where that
// cannot be read.
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
