package trainer

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/metric"
)

// Outcomes of a shadow trial.
const (
	trialPromoted = "promoted"
	trialRefused  = "refused"
)

// metrics are the service's figures.
type metrics struct {
	feedback  *prometheus.CounterVec
	waiting   prometheus.Gauge
	searches  prometheus.Gauge
	published prometheus.Counter
	trials    *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := metric.At(reg)
	m := &metrics{
		feedback: auto.NewCounterVec("toolstream_trainer_feedback_total",
			"Feedback events and impressions by outcome: accepted, duplicate, waiting (for its search), or refused for a reason.", []string{"outcome"}),
		waiting:   auto.NewGauge("toolstream_trainer_feedback_waiting", "Feedback events whose search is not known yet."),
		searches:  auto.NewGauge("toolstream_trainer_searches", "Searches that feedback can be joined with."),
		published: auto.NewCounter("toolstream_trainer_weights_published_total", "Versions of weights published."),
		trials: auto.NewCounterVec("toolstream_trainer_shadow_total",
			"Shadow trials of learned weights by outcome: promoted, refused.", []string{"outcome"}),
	}
	for _, outcome := range []string{trialPromoted, trialRefused} {
		m.trials.WithLabelValues(outcome) // so that the first one is an increase
	}
	return m
}

func (ms *metrics) observe(m *memory) {
	n := 0
	for _, waiting := range m.waits {
		n += waiting
	}
	ms.waiting.Set(float64(n))
	n = 0
	for _, list := range m.searches {
		n += len(list.all)
	}
	ms.searches.Set(float64(n))
}
