package llm

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	calls    *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	dollars  *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	breaker  *prometheus.GaugeVec
	inFlight prometheus.Gauge
	limit    prometheus.Gauge
}

// newMetrics registers the figures; share tells which part of the budget is spent.
func newMetrics(reg prometheus.Registerer, share func() float64) (*metrics, error) {
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_llm_calls_total",
			Help: "Tries by stage and outcome: answered, canceled, unsent, or the kind of the failure.",
		}, []string{"stage", "outcome"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_llm_tokens_total",
			Help: "Tokens as the endpoint counts them, by stage and direction: prompt, completion.",
		}, []string{"stage", "direction"}),
		dollars: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_llm_cost_dollars_total",
			Help: "Cost of the tokens by the configured prices.",
		}, []string{"stage"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "toolstream_llm_call_seconds",
			Help:    "Time of one try that was sent.",
			Buckets: prometheus.ExponentialBuckets(0.05, 2, 12),
		}, []string{"stage"}),
		breaker: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "toolstream_llm_breaker",
			Help: "Whether a stage asks the endpoint: 0 it does, 1 one call tries, 2 it does not.",
		}, []string{"stage"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "toolstream_llm_in_flight",
			Help: "Tries under way.",
		}),
		limit: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "toolstream_llm_limit",
			Help: "Tries that may be under way at once, as the endpoint bears.",
		}),
	}
	budget := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "toolstream_llm_budget_spent_ratio",
		Help: "Share of the day's budget of this process that is spent, of tokens or of dollars, whichever is more; 0 without a budget.",
	}, share)
	var errs []error
	for _, c := range []prometheus.Collector{m.calls, m.tokens, m.dollars, m.seconds, m.breaker, m.inFlight, m.limit, budget} {
		errs = append(errs, reg.Register(c))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("llm: metrics: %w", err)
	}
	for _, stage := range []Stage{StageStandardize, StageRewrite} {
		m.count(stage, Answered, Usage{}, 0, 0) // the first one counts too
		m.breaker.WithLabelValues(string(stage))
	}
	return m, nil
}

// count adds so many calls that ended alike, and what they cost.
func (m *metrics) count(stage Stage, outcome string, u Usage, dollars float64, calls int) {
	s := string(stage)
	m.calls.WithLabelValues(s, outcome).Add(float64(calls))
	m.tokens.WithLabelValues(s, "prompt").Add(float64(u.Prompt))
	m.tokens.WithLabelValues(s, "completion").Add(float64(u.Completion))
	m.dollars.WithLabelValues(s).Add(dollars)
}

func (m *metrics) load(limit, busy int) {
	m.limit.Set(float64(limit))
	m.inFlight.Set(float64(busy))
}
