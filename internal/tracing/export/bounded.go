package export

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/toolstream/toolstream/internal/tracing"
)

// bounded stands before and behind the queue of the SDK's batch processor, which
// loses spans without a word: in front, it lets no more in than fit, and behind it
// notes what became of them.
type bounded struct {
	sdktrace.SpanProcessor
	exporter sdktrace.SpanExporter
	log      *slog.Logger
	room     int64
	waiting  atomic.Int64 // that were let in and not yet handed to the exporter
	full     atomic.Bool  // a span found no room, and the log has said so
	failing  atomic.Bool  // the last export failed
	*metrics
}

// Reasons for which a span is lost.
const (
	lostFull   = "queue_full"
	lostExport = "export_failed"
)

func newBounded(exporter sdktrace.SpanExporter, d Deps) (*bounded, error) {
	m, err := newMetrics(d.Registerer)
	if err != nil {
		return nil, err
	}
	b := &bounded{exporter: exporter, log: d.Logger, room: room(), metrics: m}
	b.SpanProcessor = sdktrace.NewBatchSpanProcessor(handing{b})
	return b, nil
}

// room is the length of the batch processor's queue.
func room() int64 {
	n, err := strconv.Atoi(os.Getenv("OTEL_BSP_MAX_QUEUE_SIZE"))
	if err != nil || n <= 0 {
		n = sdktrace.DefaultMaxQueueSize
	}
	return int64(n)
}

// OnEnd queues a span if there is room.
func (b *bounded) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if b.waiting.Add(1) > b.room {
		b.waiting.Add(-1)
		b.lost.WithLabelValues(lostFull).Inc()
		if !b.full.Swap(true) {
			b.log.Warn("spans of traces are lost: they come faster than the collector takes them", "room", b.room)
		}
		return
	}
	b.SpanProcessor.OnEnd(s)
}

// handing is the exporter as the batch processor sees it: its errors are told
// here, once, and not to a handler of the whole process.
type handing struct{ *bounded }

// ExportSpans implements sdktrace.SpanExporter.
func (h handing) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	n := len(spans)
	h.waiting.Add(-int64(n))
	err := h.exporter.ExportSpans(ctx, spans)
	switch was := h.failing.Swap(err != nil); {
	case err != nil && !was:
		h.log.Warn("spans of traces are lost: the collector can not be reached", "error", tracing.Kind(err), "detail", err.Error())
	case err == nil && was:
		h.log.Info("the collector of traces takes spans again")
	}
	if err != nil {
		h.lost.WithLabelValues(lostExport).Add(float64(n))
		return nil
	}
	h.sent.Add(float64(n))
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (h handing) Shutdown(ctx context.Context) error { return h.exporter.Shutdown(ctx) }
