package deadletter

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

func (s *Store) measure(reg prometheus.Registerer) {
	at := telemetry.Metrics(reg)
	at.NewGaugeFunc("toolstream_dlq_open", "Open dead letters.", func() float64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		open, forgotten := s.letters.count()
		return float64(open + forgotten)
	})
	at.NewGaugeFunc("toolstream_dlq_oldest_age_seconds", "Time since the oldest open dead letter failed; 0 without any.", func() float64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		oldest := s.letters.oldestOpen()
		if oldest.IsZero() {
			return 0
		}
		return max(0, time.Since(oldest).Seconds())
	})
}
