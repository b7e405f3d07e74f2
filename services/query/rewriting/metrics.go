package rewriting

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/metric"
)

// metrics are the figures of a Rewriter. What the model costs is counted where
// it is asked.
type metrics struct {
	outcomes    *prometheus.CounterVec
	seconds     prometheus.Histogram
	withheld    prometheus.Counter
	strange     prometheus.Counter
	storeErrors prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	on := metric.At(reg)
	return &metrics{
		outcomes: on.NewCounterVec("toolstream_rewrite_outcomes_total",
			"Queries by what came of their rewriting: llm, cache, or why there was none.", []string{"outcome"}),
		seconds: on.NewHistogram("toolstream_rewrite_seconds", "Time that a query waited for its rewriting.",
			prometheus.ExponentialBuckets(0.0005, 2, 14)),
		withheld: on.NewCounter("toolstream_rewrite_arguments_withheld_total",
			"Arguments left out of an answer because they repeated a value of the query."),
		strange: on.NewCounter("toolstream_rewrite_strange_total",
			"Needs and arguments left out of an answer because the query gives no reason for them."),
		storeErrors: on.NewCounter("toolstream_rewrite_store_errors_total", "Failures to read or keep answers of the language model."),
	}
}

func (m *metrics) done(r Rewritten, err error, took time.Duration) {
	m.outcomes.WithLabelValues(outcomeOf(r, err)).Inc()
	m.seconds.Observe(took.Seconds())
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
