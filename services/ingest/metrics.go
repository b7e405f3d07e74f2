package ingest

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of the service.
type metrics struct {
	items      *prometheus.CounterVec
	events     *prometheus.CounterVec
	groups     prometheus.Histogram
	duration   prometheus.Histogram
	failures   prometheus.Counter
	unreadable prometheus.Counter
	uncovered  prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, known func() int, ready func() bool) (*metrics, error) {
	m := &metrics{
		items: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_ingest_items_total",
			Help: "Tools and agents sent, by what became of them.",
		}, []string{"state"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_ingest_events_total",
			Help: "CloudEvents received, by what became of them.",
		}, []string{"state"}),
		groups: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "toolstream_ingest_commit_size",
			Help:    "Changes put on the bus together.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 12),
		}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "toolstream_ingest_commit_seconds",
			Help:    "Time until changes put on the bus together were durable, or failed.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 3, 10),
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_ingest_commit_failures_total",
			Help: "Commits that the bus did not confirm.",
		}),
		unreadable: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_ingest_unreadable_records_total",
			Help: "Records on tools.raw that are no change.",
		}),
		uncovered: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_ingest_uncovered_total",
			Help: "Changes put to the end of tools.raw again because an older one of the same entity lay behind them.",
		}),
	}
	size := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "toolstream_ingest_known_entities",
		Help: "Tools and agents in the table of known ones, deleted ones included.",
	}, func() float64 { return float64(known()) })
	loaded := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "toolstream_ingest_ready",
		Help: "1 once the table of known entities is loaded.",
	}, func() float64 {
		if ready() {
			return 1
		}
		return 0
	})
	var errs []error
	for _, c := range []prometheus.Collector{m.items, m.events, m.groups, m.duration, m.failures, m.unreadable, m.uncovered, size, loaded} {
		errs = append(errs, reg.Register(c))
	}
	// An increase does not show the first of what begins with 1.
	for _, state := range []State{Accepted, Unchanged, Stale, Superseded, Rejected} {
		m.items.WithLabelValues(string(state))
		m.events.WithLabelValues(string(state))
	}
	for _, state := range []State{Duplicate, Ignored} {
		m.events.WithLabelValues(string(state))
	}
	return m, errors.Join(errs...)
}

func (m *metrics) published(n int, took time.Duration, err error) {
	m.groups.Observe(float64(n))
	m.duration.Observe(took.Seconds())
	if err != nil {
		m.failures.Inc()
	}
}

func (m *metrics) settled(outcomes []Outcome) {
	for i := range outcomes {
		m.items.WithLabelValues(string(outcomes[i].State)).Inc()
	}
}
