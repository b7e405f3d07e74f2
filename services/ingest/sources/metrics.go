package sources

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

// metrics of the service.
type metrics struct {
	sources  *prometheus.GaugeVec
	looks    *prometheus.CounterVec
	duration prometheus.Histogram
}

// Outcomes of a look.
const (
	outcomeListed  = "listed"
	outcomeRefused = "refused"
	outcomeAuth    = "auth_needed"
	outcomeFailed  = "failed"
)

func newMetrics(reg prometheus.Registerer) *metrics {
	on := telemetry.Metrics(reg)
	return &metrics{
		sources: on.NewGaugeVec("toolstream_sources", "Sources that this process looks at, by state.", []string{"state"}),
		looks: on.NewCounterVec("toolstream_source_looks_total", "Looks at sources, by outcome.", []string{"outcome"},
			[]string{outcomeListed, outcomeRefused, outcomeAuth, outcomeFailed}),
		duration: on.NewHistogram("toolstream_source_look_seconds", "Time to list a source and to accept its changes.",
			prometheus.ExponentialBuckets(0.01, 3, 9)),
	}
}

// countEvery is how often sources are counted.
const countEvery = 5 * time.Second

// countStates counts sources until ctx ends.
func (m *metrics) countStates(ctx context.Context, count func() map[State]int) {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	for {
		n := count()
		for _, state := range []State{Live, Polling, Stale, AuthNeeded, Refused, Held, Paused, Removing} {
			m.sources.WithLabelValues(string(state)).Set(float64(n[state]))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
