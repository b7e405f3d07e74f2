package ingest

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

// metrics of the service.
type metrics struct {
	items      *prometheus.CounterVec
	events     *prometheus.CounterVec
	groups     prometheus.Histogram
	duration   prometheus.Histogram
	failures   prometheus.Counter
	unreadable prometheus.Counter
	repeated   prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, known func() int, ready func() bool) *metrics {
	on := telemetry.Metrics(reg)
	states := []string{string(Accepted), string(Unchanged), string(Stale), string(Superseded), string(Rejected)}
	on.NewGaugeFunc("toolstream_ingest_known_entities", "Tools and providers in the table of known entities, deleted ones included.",
		func() float64 { return float64(known()) })
	on.NewGaugeFunc("toolstream_ingest_ready", "1 once the table of known entities is loaded.",
		func() float64 { return telemetry.Bool(ready()) })
	return &metrics{
		items: on.NewCounterVec("toolstream_ingest_items_total", "Tools and providers sent, by outcome.", []string{"state"}, states),
		events: on.NewCounterVec("toolstream_ingest_events_total", "CloudEvents received, by outcome.",
			[]string{"state"}, append(states, string(Duplicate), string(Ignored))),
		groups: on.NewHistogram("toolstream_ingest_commit_size", "Changes in a commit.",
			prometheus.ExponentialBuckets(1, 2, 12)),
		duration: on.NewHistogram("toolstream_ingest_commit_seconds", "Time to commit changes to the bus, or to fail.",
			prometheus.ExponentialBuckets(0.0005, 3, 10)),
		failures:   on.NewCounter("toolstream_ingest_commit_failures_total", "Commits that the bus did not confirm."),
		unreadable: on.NewCounter("toolstream_ingest_unreadable_records_total", "Records on tools.raw that cannot be read as a change."),
		repeated:   on.NewCounter("toolstream_order_repairs_total", "Changes that were published again because an older change of the same entity followed them."),
	}
}

func (m *metrics) count(outcomes []Outcome) {
	for i := range outcomes {
		m.items.WithLabelValues(string(outcomes[i].State)).Inc()
	}
}
