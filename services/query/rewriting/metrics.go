package rewriting

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/internal/models/llm"
)

// metrics are the figures of a Rewriter. What the model costs is counted where
// it is asked.
type metrics struct {
	outcomes    *prometheus.CounterVec
	seconds     prometheus.Histogram
	withheld    prometheus.Counter
	unsupported prometheus.Counter
	storeErrors prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	on := telemetry.Metrics(reg)
	return &metrics{
		outcomes: on.NewCounterVec("toolstream_rewrite_outcomes_total",
			"Queries by the outcome of their rewriting: llm, cache, or the reason to go without.", []string{"outcome"}),
		seconds: on.NewHistogram("toolstream_rewrite_seconds", "Time a query waited for its rewriting.",
			prometheus.ExponentialBuckets(0.0005, 2, 14)),
		withheld: on.NewCounter("toolstream_rewrite_arguments_withheld_total",
			"Arguments dropped because they repeated a value of the query."),
		unsupported: on.NewCounter("toolstream_rewrite_strange_total",
			"Needs and arguments dropped because the query does not support them."),
		storeErrors: on.NewCounter("toolstream_rewrite_store_errors_total", "Failures to read or keep answers of the language model."),
	}
}

func outcomeOf(r Rewritten, err error) string {
	kind := llm.KindOf(err)
	switch {
	case err == nil && r.Cached:
		return "cache"
	case err == nil:
		return "llm"
	case errors.As(err, new(errBefore)):
		return "failed_before"
	case errors.Is(err, errLate):
		return "late"
	case errors.Is(err, errSlow):
		return "slow"
	case errors.Is(err, errBusy):
		return "busy"
	case errors.Is(err, ErrAnswer):
		return "unusable"
	case kind != "":
		return string(kind)
	}
	return "failed"
}
