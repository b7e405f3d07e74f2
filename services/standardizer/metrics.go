package standardizer

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/metric"
	"github.com/toolstream/toolstream/pkg/schema"
)

// metrics count where documents come from.
type metrics struct {
	documents   *prometheus.CounterVec
	violations  *prometheus.CounterVec
	storeErrors prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := metric.At(reg)
	return &metrics{
		documents: auto.NewCounterVec("toolstream_standardized_total",
			"Documents of tools by what made them: rules, model, repaired, or why it was rules although there is a model.", []string{"by"}),
		violations: auto.NewCounterVec("toolstream_standardize_violations_total",
			"Findings in answers of the language model, by check.", []string{"check"}),
		storeErrors: auto.NewCounter("toolstream_standardize_store_errors_total",
			"Failures to read or keep answers of the language model."),
	}
}

// made counts a document by its origin.
func (m *metrics) made(o *schema.Origin) {
	by := "model"
	switch {
	case o == nil:
		by = "rules"
	case o.Fallback != "":
		by = string(o.Fallback)
	case o.Repaired:
		by = "repaired"
	}
	m.documents.WithLabelValues(by).Inc()
}

// refreshMetrics count what a Refresher does.
type refreshMetrics struct {
	asked   prometheus.Counter
	waiting prometheus.Gauge
}

func newRefreshMetrics(reg prometheus.Registerer) *refreshMetrics {
	auto := metric.At(reg)
	return &refreshMetrics{
		asked: auto.NewCounter("toolstream_refresh_total", "Documents that were to be made anew."),
		waiting: auto.NewGauge("toolstream_refresh_waiting",
			"Documents made by another prompt or model than today's, or by rules for want of one."),
	}
}
