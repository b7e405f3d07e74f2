package weaviate

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/pkg/events"
)

// What became of changes.
const (
	changeStored  = "stored"
	changeDeleted = "deleted"
	changeStale   = "stale"   // not newer than what is there
	changeRewrite = "rewrite" // of what another session left, because nothing is known of a fence
)

func (s *stored) outcome() string {
	switch {
	case s.change.Op == events.OpDelete:
		return changeDeleted
	case s.rewrite:
		return changeRewrite
	}
	return changeStored
}

type metrics struct {
	registerer prometheus.Registerer
	changes    *prometheus.CounterVec
	invisible  prometheus.Counter
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		registerer: r,
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_weaviate_changes_total", Help: "Changes that came to the index, by what became of them.",
		}, []string{"outcome"}),
		invisible: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_index_invisible_total",
			Help: "Entities that were stored and that no search for their own vectors found; they were written again.",
		}),
	}
	for at, c := range m.all() {
		if err := r.Register(c); err != nil {
			for _, done := range m.all()[:at] {
				r.Unregister(done)
			}
			return nil, fmt.Errorf("weaviate: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) all() []prometheus.Collector { return []prometheus.Collector{m.changes, m.invisible} }

func (m *metrics) count(outcome string) { m.changes.WithLabelValues(outcome).Inc() }

func (m *metrics) unregister() {
	for _, c := range m.all() {
		m.registerer.Unregister(c)
	}
}
