package standardizer

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/schema"
)

// metrics count documents by origin.
type metrics struct {
	documents   *prometheus.CounterVec
	verdicts    *prometheus.CounterVec
	violations  *prometheus.CounterVec
	storeErrors prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := telemetry.Metrics(reg)
	return &metrics{
		documents: auto.NewCounterVec("toolstream_standardized_total",
			"Documents of tools by origin: rules (no model is configured), pending (rules, until the model answers), model, repaired, or the reason to ignore the answer.", []string{"by"}),
		verdicts: auto.NewCounterVec("toolstream_standardize_verdicts_total",
			"Documents that the language model answered: model, repaired, or the reason to ignore the answer.", []string{"verdict"}),
		violations: auto.NewCounterVec("toolstream_standardize_violations_total",
			"Findings in answers of the language model, by check.", []string{"check"}),
		storeErrors: auto.NewCounter("toolstream_standardize_store_errors_total",
			"Failures to read or keep answers of the language model."),
	}
}

// outcome names the outcome of a question about a document.
func outcome(f schema.Fallback, repaired bool) string {
	switch {
	case f != "":
		return string(f)
	case repaired:
		return "repaired"
	}
	return "model"
}
