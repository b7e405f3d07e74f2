package audit

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/metric"
)

type metrics struct {
	records  *prometheus.CounterVec
	dropped  prometheus.Counter
	failures prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	at := metric.At(reg)
	return &metrics{
		records: at.NewCounterVec("toolstream_audit_records_total", "Records that were written to the audit log, by decision.",
			[]string{"decision"}, []string{string(Allowed), string(Denied)}),
		dropped:  at.NewCounter("toolstream_audit_dropped_total", "Sampled searches and reads that were left out of the audit log, because too many records waited."),
		failures: at.NewCounter("toolstream_audit_failures_total", "Tries to write to the audit log that failed. While they do, changes are refused (503)."),
	}
}
