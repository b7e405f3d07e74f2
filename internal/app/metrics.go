package app

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// buildInfo says which version runs.
func buildInfo(version string) prometheus.Collector {
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "toolstream_build_info",
		Help: "1, with the version that runs.",
	}, []string{"version"})
	build.WithLabelValues(version).Set(1)
	return build
}

// readiness shows what /readyz answers.
func readiness(ready func() error) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "toolstream_ready",
		Help: "1 while the process is ready, and so is what it can not work without.",
	}, func() float64 {
		if ready() != nil {
			return 0
		}
		return 1
	})
}

// backlogMetrics are the figures of what waits on the way into the index.
type backlogMetrics struct {
	age     *prometheus.GaugeVec
	records *prometheus.GaugeVec
	looked  prometheus.Gauge
}

func newBacklogMetrics(reg prometheus.Registerer) (*backlogMetrics, error) {
	m := &backlogMetrics{
		age: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "toolstream_oldest_change_age_seconds",
			Help: "Time since the oldest change was accepted that is not searchable yet, by the stage that it waits for; 0 where none waits. Looked at from outside of the stages, so that it grows if none of them runs.",
		}, []string{"stage"}),
		records: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "toolstream_backlog_records",
			Help: "Records between what a stage has finished and the end of its topic, by the stage, whose name its group has; on a compacted topic an upper bound.",
		}, []string{"stage", "topic"}),
		looked: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "toolstream_backlog_looked_timestamp_seconds",
			Help: "When all stages were last looked at for it.",
		}),
	}
	return m, errors.Join(reg.Register(m.age), reg.Register(m.records), reg.Register(m.looked))
}

// waits shows the age of the oldest change before a stage; none waits if it was
// never accepted.
func (m *backlogMetrics) waits(stage string, accepted, now time.Time) {
	age := 0.0
	if !accepted.IsZero() {
		age = max(0, now.Sub(accepted).Seconds())
	}
	m.age.WithLabelValues(stage).Set(age)
}

func (m *backlogMetrics) forget(stage string) {
	m.age.DeletePartialMatch(prometheus.Labels{"stage": stage})
	m.records.DeletePartialMatch(prometheus.Labels{"stage": stage})
}
