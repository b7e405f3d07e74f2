package kafka

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
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
	lag        *prometheus.GaugeVec
	batches    *prometheus.HistogramVec
	retries    *prometheus.CounterVec
	rebalances *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		lag: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "toolstream_kafka_lag",
			Help: "Offsets between what a group has committed and the end of a partition that this process holds, as of the last read or commit.",
		}, []string{"topic", "group", "partition"}),
		batches: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "toolstream_kafka_batch_size",
			Help:    "Records in a produce request or in the answer to a fetch that held any.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 8),
		}, []string{"operation"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_kafka_retries_total",
			Help: "Requests that failed and were tried again.",
		}, []string{"operation"}),
		rebalances: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_kafka_rebalances_total",
			Help: "Times that this process was given its partitions anew.",
		}, []string{"topic", "group"}),
	}
	for _, c := range []prometheus.Collector{m.lag, m.batches, m.retries, m.rebalances} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("kafka: register metrics: %w", err)
		}
	}
	return m, nil
}
