package standardizer

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count where documents come from.
type metrics struct {
	documents   *prometheus.CounterVec
	violations  *prometheus.CounterVec
	storeErrors prometheus.Counter
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		documents: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_standardized_total",
			Help: "Documents of tools by what made them: rules, model, repaired, cache, or why it was rules although there is a model.",
		}, []string{"by"}),
		violations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_standardize_violations_total",
			Help: "Findings in answers of the language model, by check.",
		}, []string{"check"}),
		storeErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_standardize_store_errors_total",
			Help: "Failures to read or keep answers of the language model.",
		}),
	}
	return m, errors.Join(r.Register(m.documents), r.Register(m.violations), r.Register(m.storeErrors))
}

func (m *metrics) made(by string) { m.documents.WithLabelValues(by).Inc() }

// refreshMetrics count what a Refresher does.
type refreshMetrics struct {
	asked   prometheus.Counter
	waiting prometheus.Gauge
}

func newRefreshMetrics(r prometheus.Registerer) (*refreshMetrics, error) {
	m := &refreshMetrics{
		asked: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_refresh_total",
			Help: "Documents that were to be made anew.",
		}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "toolstream_refresh_waiting",
			Help: "Documents made by another prompt or model than today's, or by rules for want of one.",
		}),
	}
	return m, errors.Join(r.Register(m.asked), r.Register(m.waiting))
}
