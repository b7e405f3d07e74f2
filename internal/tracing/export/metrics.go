package export

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what became of spans.
type metrics struct {
	lost *prometheus.CounterVec
	sent prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		lost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_spans_lost_total",
			Help: "Spans of traces that were not sent, by reason (queue_full, export_failed).",
		}, []string{"reason"}),
		sent: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_spans_sent_total",
			Help: "Spans of traces that a collector has taken.",
		}),
	}
	for _, reason := range []string{lostFull, lostExport} {
		m.lost.WithLabelValues(reason)
	}
	return m, errors.Join(reg.Register(m.lost), reg.Register(m.sent))
}
