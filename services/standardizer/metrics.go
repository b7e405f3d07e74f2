package standardizer

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/metric"
	"github.com/toolstream/toolstream/pkg/schema"
)

// metrics count where documents come from.
type metrics struct {
	documents   *prometheus.CounterVec
	verdicts    *prometheus.CounterVec
	violations  *prometheus.CounterVec
	storeErrors prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := metric.At(reg)
	return &metrics{
		documents: auto.NewCounterVec("toolstream_standardized_total",
			"Documents of tools by what made them: rules (no model is configured), pending (rules, until the model has answered), model, repaired, or why it was rules although there is an answer.", []string{"by"}),
		verdicts: auto.NewCounterVec("toolstream_standardize_verdicts_total",
			"Documents that the language model was asked about and answered, by what came of it: model, repaired, or why the answer was not taken.", []string{"verdict"}),
		violations: auto.NewCounterVec("toolstream_standardize_violations_total",
			"Findings in answers of the language model, by check.", []string{"check"}),
		storeErrors: auto.NewCounter("toolstream_standardize_store_errors_total",
			"Failures to read or keep answers of the language model."),
	}
}

// made counts a document by its origin.
func (m *metrics) made(o *schema.Origin) {
	by := "rules"
	if o != nil {
		by = outcome(o.Fallback, o.Repaired)
	}
	m.documents.WithLabelValues(by).Inc()
}

// judged counts what the model was asked about.
func (m *metrics) judged(v verdict) {
	m.verdicts.WithLabelValues(outcome(v.Fallback, len(v.Said) > 1)).Inc()
}

func outcome(f schema.Fallback, repaired bool) string {
	switch {
	case f != "":
		return string(f)
	case repaired:
		return "repaired"
	}
	return "model"
}

// newRefreshMetrics registers gauges of what waits, and returns the counter of what was
// made anew.
func newRefreshMetrics(reg prometheus.Registerer, waiting, age func() float64) prometheus.Counter {
	auto := metric.At(reg)
	auto.NewGaugeFunc("toolstream_refresh_waiting",
		"Documents that wait for the language model: those that it was never asked about, and those made by another prompt or model than today's. 0 where another process asks.", waiting)
	auto.NewGaugeFunc("toolstream_refresh_oldest_age_seconds",
		"How long the first of them has waited, since it was standardized or this process began to ask.", age)
	return auto.NewCounter("toolstream_refresh_total", "Documents that were to be made anew, because there is an answer.")
}
