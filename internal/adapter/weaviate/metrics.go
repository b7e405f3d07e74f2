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
	changeNudged  = "rewrite" // written again with nudged vectors, because nothing is known of a fence
)

func (s *stored) outcome() string {
	switch {
	case s.change.Op == events.OpDelete:
		return changeDeleted
	case s.nudged:
		return changeNudged
	}
	return changeStored
}

type metrics struct {
	registerer prometheus.Registerer
	changes    *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{registerer: r, changes: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "toolstream_weaviate_changes_total", Help: "Changes that came to the index, by what became of them.",
	}, []string{"outcome"})}
	if err := r.Register(m.changes); err != nil {
		return nil, fmt.Errorf("weaviate: %w", err)
	}
	return m, nil
}

func (m *metrics) count(outcome string) { m.changes.WithLabelValues(outcome).Inc() }

func (m *metrics) unregister() { m.registerer.Unregister(m.changes) }
