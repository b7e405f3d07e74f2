package llm

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/metric"
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
	r := metric.At(reg)
	m := &metrics{
		calls: r.NewCounterVec("toolstream_llm_calls_total",
			"Tries by stage and outcome: answered, canceled, unsent, or the kind of the failure.", []string{"stage", "outcome"}),
		tokens: r.NewCounterVec("toolstream_llm_tokens_total",
			"Tokens as the endpoint counts them, by stage and direction: prompt, completion.", []string{"stage", "direction"}),
		dollars: r.NewCounterVec("toolstream_llm_cost_dollars_total",
			"Cost of the tokens by the configured prices.", []string{"stage"}),
		seconds: r.NewHistogramVec("toolstream_llm_call_seconds",
			"Time of one try that was sent.", []string{"stage"}, prometheus.ExponentialBuckets(0.05, 2, 12)),
		breaker: r.NewGaugeVec("toolstream_llm_breaker",
			"State of the circuit breaker of a stage: 0 closed, 1 half open (one call tries), 2 open (the endpoint is not asked).", []string{"stage"}),
	}
	r.NewGaugeFunc("toolstream_llm_budget_spent_ratio",
		"Share of the day's budget of this process that is spent, of tokens or of dollars, whichever is more; 0 without a budget.", share)
	for _, stage := range stages { // so that the first increase is seen
		m.calls.WithLabelValues(string(stage), Answered)
		m.breaker.WithLabelValues(string(stage))
	}
	return m
}

// count notes a try and what it cost.
func (m *metrics) count(stage Stage, outcome string, u Usage, dollars float64) {
	s := string(stage)
	m.calls.WithLabelValues(s, outcome).Inc()
	m.tokens.WithLabelValues(s, "prompt").Add(float64(u.Prompt))
	m.tokens.WithLabelValues(s, "completion").Add(float64(u.Completion))
	m.dollars.WithLabelValues(s).Add(dollars)
}
