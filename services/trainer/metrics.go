package trainer

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// What becomes of weights on trial.
const (
	shadowPromoted = "promoted"
	shadowRefused  = "refused"
)

// metrics are the service's figures.
type metrics struct {
	feedback  *prometheus.CounterVec
	waiting   prometheus.Gauge
	known     prometheus.Gauge
	due       prometheus.Gauge
	published prometheus.Counter
	refused   prometheus.Counter

	rolledBack prometheus.Counter
	shadows    *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		feedback: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_trainer_feedback_total",
			Help: "Feedback events and impressions by what became of them: accepted, duplicate, waiting (for its search), or refused for a reason.",
		}, []string{"outcome"}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "toolstream_trainer_feedback_waiting",
			Help: "Feedback events whose search is not known yet.",
		}),
		known: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "toolstream_trainer_remembered",
			Help: "Searches and event ids that are remembered for joining.",
		}),
		due: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "toolstream_trainer_unsettled",
			Help: "Searches that are learned from as soon as they settle, which they do shortly after feedback on them.",
		}),
		published: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_trainer_weights_published_total",
			Help: "Versions of weights published, those after a restart again.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_trainer_weights_refused_total",
			Help: "Learned weights that were not published because they could not rank.",
		}),
		shadows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_trainer_shadow_total",
			Help: "Learned weights that were scored beside the live ones, by what became of them: promoted, refused.",
		}, []string{"outcome"}),
		rolledBack: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_trainer_weights_rolled_back_total",
			Help: "Live weights that gave way to those before them because they served worse.",
		}),
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.feedback, m.waiting, m.known, m.due, m.published, m.refused, m.rolledBack, m.shadows} {
		errs = append(errs, reg.Register(c))
	}
	for _, outcome := range []string{shadowPromoted, shadowRefused} {
		m.shadows.WithLabelValues(outcome) // the first one counts too
	}
	return m, errors.Join(errs...)
}

// observe shows how much is remembered, and how much of it is learned from within
// the time that it takes to settle: those searches have feedback, but for the few of
// which nobody will report any more.
func (ms *metrics) observe(m *memory, now time.Time, settle time.Duration) {
	ms.waiting.Set(float64(m.waiters()))
	ms.known.Set(float64(m.searches.n + m.seen.n))
	due := 0
	for _, at := range m.due {
		if at.Sub(now) <= settle {
			due++
		}
	}
	ms.due.Set(float64(due))
}
