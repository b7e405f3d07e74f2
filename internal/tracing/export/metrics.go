package export

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/toolstream/toolstream/internal/health"
	"github.com/toolstream/toolstream/internal/metric"
)

// counting is an exporter that counts what it sends. Its errors are logged here, and
// not by the handler of the whole process.
type counting struct {
	sdktrace.SpanExporter
	log        *slog.Logger
	health     health.State
	sent, lost prometheus.Counter
}

func newCounting(exporter sdktrace.SpanExporter, d Deps) *counting {
	auto := metric.At(d.Registerer)
	return &counting{
		SpanExporter: exporter, log: d.Logger,
		lost: auto.NewCounter("toolstream_spans_lost_total", "Spans of traces that a collector did not take."),
		sent: auto.NewCounter("toolstream_spans_sent_total", "Spans of traces that a collector has taken."),
	}
}

// ExportSpans implements sdktrace.SpanExporter.
func (c *counting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	c.health.Note(ctx, c.log, err, "spans of traces are lost: the collector cannot be reached", "the collector of traces takes spans again")
	if err != nil {
		c.lost.Add(float64(len(spans)))
		return nil
	}
	c.sent.Add(float64(len(spans)))
	return nil
}
