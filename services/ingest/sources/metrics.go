package sources

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/metric"
	"github.com/toolstream/toolstream/internal/outbound"
	"github.com/toolstream/toolstream/internal/source"
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
	on := metric.At(reg)
	return &metrics{
		sources: on.NewGaugeVec("toolstream_sources", "Sources that this process looks at, by state.", []string{"state"}),
		looks: on.NewCounterVec("toolstream_source_looks_total", "Looks at sources, by outcome.", []string{"outcome"},
			[]string{outcomeListed, outcomeRefused, outcomeAuth, outcomeFailed}),
		duration: on.NewHistogram("toolstream_source_look_seconds", "Time to list a source and to accept what had changed.",
			prometheus.ExponentialBuckets(0.01, 3, 9)),
	}
}

// countEvery is how often sources are counted.
const countEvery = 5 * time.Second

// tally counts sources until ctx ends.
func (s *Service) tally(ctx context.Context) {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	for {
		n := s.count()
		for _, state := range []State{Live, Polling, Stale, AuthNeeded, Refused, Held, Paused, Removing} {
			s.metrics.sources.WithLabelValues(string(state)).Set(float64(n[state]))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (m *metrics) looked(took time.Duration, err error) {
	outcome := outcomeFailed
	switch {
	case err == nil:
		outcome = outcomeListed
	case errors.Is(err, source.ErrRefused), errors.Is(err, outbound.ErrAddress):
		outcome = outcomeRefused
	case errors.Is(err, source.ErrAuth):
		outcome = outcomeAuth
	}
	m.looks.WithLabelValues(outcome).Inc()
	m.duration.Observe(took.Seconds())
}
