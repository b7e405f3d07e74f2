package trainer

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

// metrics are the service's figures.
type metrics struct {
	feedback  *prometheus.CounterVec
	waiting   prometheus.Gauge
	searches  prometheus.Gauge
	published prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	auto := telemetry.Metrics(reg)
	return &metrics{
		feedback: auto.NewCounterVec("toolstream_trainer_feedback_total",
			"Feedback and impressions: accepted, duplicate, waiting (for their search), or the reason of a refusal.", []string{"outcome"}),
		waiting:   auto.NewGauge("toolstream_trainer_feedback_waiting", "Feedback that waits for its search."),
		searches:  auto.NewGauge("toolstream_trainer_searches", "Searches that can get feedback."),
		published: auto.NewCounter("toolstream_trainer_weights_published_total", "Published versions of the weights."),
	}
}

// observe counts the outcomes of an update and the content of the memory.
func (ms *metrics) observe(m *memory) {
	for outcome, n := range m.outcomes {
		ms.feedback.WithLabelValues(outcome).Add(float64(n))
	}
	n := 0
	for _, waiting := range m.waiting.counts {
		n += waiting
	}
	ms.waiting.Set(float64(n))
	n = 0
	for _, list := range m.searches.tenants {
		n += len(list.all)
	}
	ms.searches.Set(float64(n))
}
