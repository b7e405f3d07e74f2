package telemetry

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/toolstream/toolstream/internal/kit/lifecycle"
)

// countingExporter is an exporter that counts sent and lost spans. It logs errors itself, not
// through the handler of the whole process.
type countingExporter struct {
	sdktrace.SpanExporter
	log        *slog.Logger
	health     lifecycle.Health
	sent, lost prometheus.Counter
}

func newCountingExporter(exporter sdktrace.SpanExporter, d TraceDeps) *countingExporter {
	auto := Metrics(d.Registerer)
	return &countingExporter{
		SpanExporter: exporter, log: d.Logger,
		lost: auto.NewCounter("toolstream_spans_lost_total", "Spans that the collector refused."),
		sent: auto.NewCounter("toolstream_spans_sent_total", "Spans that the collector accepted."),
	}
}

// ExportSpans implements sdktrace.SpanExporter.
func (c *countingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	c.health.LogChange(ctx, c.log, err, "spans of traces are lost: the collector cannot be reached", "the collector of traces takes spans again")
	if err != nil {
		c.lost.Add(float64(len(spans)))
		return nil
	}
	c.sent.Add(float64(len(spans)))
	return nil
}
