package status

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/metric"
)

// backlogMetrics are the figures of what waits on the way into the index.
type backlogMetrics struct {
	age      *prometheus.GaugeVec
	records  *prometheus.GaugeVec
	measured prometheus.Gauge
}

func newBacklogMetrics(reg prometheus.Registerer) *backlogMetrics {
	on := metric.At(reg)
	return &backlogMetrics{
		age: on.NewGaugeVec("toolstream_oldest_change_age_seconds",
			"Time since the oldest change was accepted that is not searchable yet, by the stage that it waits for; 0 where none waits. Measured from outside of the stages, so that it grows if none of them runs.",
			[]string{"stage"}),
		records: on.NewGaugeVec("toolstream_backlog_records",
			"Records between what a stage has finished and the end of its topic, by the stage, whose name its group has; on a compacted topic an upper bound.",
			[]string{"stage", "topic"}),
		measured: on.NewGauge("toolstream_backlog_looked_timestamp_seconds", "When all stages were last measured for it."),
	}
}

func (m *backlogMetrics) forget(stage string) {
	m.age.DeletePartialMatch(prometheus.Labels{"stage": stage})
	m.records.DeletePartialMatch(prometheus.Labels{"stage": stage})
}
