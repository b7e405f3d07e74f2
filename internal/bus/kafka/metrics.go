package kafka

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/metric"
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
	at := metric.At(reg)
	return &metrics{
		retries: at.NewCounterVec("toolstream_kafka_retries_total", "Requests that failed and were tried again.",
			[]string{"operation"}, []string{opPublish, opFetch, opJoin, opMeta}),
		rebalances: at.NewCounterVec("toolstream_kafka_rebalances_total", "Times that this process was given its partitions anew.",
			[]string{"topic", "group"}),
	}
}
