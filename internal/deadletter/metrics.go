package deadletter

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// measure registers the figures of what lies on the shelf.
func (s *shelf) measure(reg prometheus.Registerer, now func() time.Time) error {
	return errors.Join(
		reg.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "toolstream_dlq_open",
			Help: "Dead letters that nobody has replayed or dropped yet.",
		}, func() float64 { return float64(s.openCount()) })),
		reg.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "toolstream_dlq_oldest_age_seconds",
			Help: "Time since the oldest open dead letter was given up; 0 where there is none.",
		}, func() float64 {
			oldest, ok := s.oldestOpen()
			if !ok {
				return 0
			}
			return max(0, now().Sub(oldest).Seconds())
		})),
	)
}
