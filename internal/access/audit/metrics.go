package audit

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

type metrics struct {
	records  *prometheus.CounterVec
	dropped  prometheus.Counter
	failures prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	at := telemetry.Metrics(reg)
	return &metrics{
		records: at.NewCounterVec("toolstream_audit_records_total", "Records in the audit log, by decision.",
			[]string{"decision"}, []string{string(Allowed), string(Denied)}),
		dropped:  at.NewCounter("toolstream_audit_dropped_total", "Sampled searches and reads that the audit log lacks because too many records waited."),
		failures: at.NewCounter("toolstream_audit_failures_total", "Failed writes to the audit log. While they fail, changes are refused (503)."),
	}
}
