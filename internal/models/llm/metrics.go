package llm

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

type metrics struct {
	calls   *prometheus.CounterVec
	tokens  *prometheus.CounterVec
	dollars *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	breaker *prometheus.GaugeVec
}

// newMetrics registers the metrics; share tells which part of the budget is spent.
func newMetrics(reg prometheus.Registerer, share func() float64) *metrics {
	r := telemetry.Metrics(reg)
	m := &metrics{
		calls: r.NewCounterVec("toolstream_llm_calls_total",
			"Attempts by outcome: answered, canceled, unsent, or the kind of failure.", []string{"stage", "outcome"}),
		tokens: r.NewCounterVec("toolstream_llm_tokens_total",
			"Tokens as counted by the endpoint: prompt, completion.", []string{"stage", "direction"}),
		dollars: r.NewCounterVec("toolstream_llm_cost_dollars_total",
			"Cost of the tokens at the configured prices.", []string{"stage"}),
		seconds: r.NewHistogramVec("toolstream_llm_call_seconds",
			"Time of an attempt.", []string{"stage"}, prometheus.ExponentialBuckets(0.05, 2, 12)),
		breaker: r.NewGaugeVec("toolstream_llm_breaker",
			"Circuit breaker of a stage: 0 closed, 1 half open (one call tries), 2 open (no calls).", []string{"stage"}),
	}
	r.NewGaugeFunc("toolstream_llm_budget_spent_ratio",
		"Spent share of this process's daily budget, of tokens or dollars, whichever is higher; 0 without a budget.", share)
	for _, stage := range stages { // so that the first increase is seen
		m.calls.WithLabelValues(string(stage), Answered)
		m.breaker.WithLabelValues(string(stage))
	}
	return m
}
