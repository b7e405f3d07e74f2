package kafka

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

// Values of the label operation.
const (
	opPublish = "publish"
	opFetch   = "fetch"
	opJoin    = "join"
	opMeta    = "metadata"
)

// metrics of the adapter.
type metrics struct {
	retries    *prometheus.CounterVec
	rebalances *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	at := telemetry.Metrics(reg)
	return &metrics{
		retries: at.NewCounterVec("toolstream_kafka_retries_total", "Retried requests.",
			[]string{"operation"}, []string{opPublish, opFetch, opJoin, opMeta}),
		rebalances: at.NewCounterVec("toolstream_kafka_rebalances_total", "Assignments of partitions to this process.",
			[]string{"topic", "group"}),
	}
}
