package deadletter

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/metric"
)

func (s *Store) measure(reg prometheus.Registerer) {
	at := metric.At(reg)
	at.NewGaugeFunc("toolstream_dlq_open", "Dead letters that are neither replayed nor dropped.", func() float64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		open, forgotten := s.letters.count()
		return float64(open + forgotten)
	})
	at.NewGaugeFunc("toolstream_dlq_oldest_age_seconds", "Time since the oldest open dead letter was given up; 0 where there is none.", func() float64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		oldest := s.letters.oldestOpen()
		if oldest.IsZero() {
			return 0
		}
		return max(0, time.Since(oldest).Seconds())
	})
}
