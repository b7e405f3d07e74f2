package flat

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// The results of a change.
const (
	changeUpserted = "upserted"
	changeDeleted  = "deleted"
	changeStale    = "stale" // the stored version is as new or newer
)

// metrics are the metrics of an index.
type metrics struct {
	registry prometheus.Registerer
	all      []prometheus.Collector
	changes  *prometheus.CounterVec
	apply    prometheus.Histogram
	search   prometheus.Histogram
}

func newMetrics(registry prometheus.Registerer, i *Index) (*metrics, error) {
	m := &metrics{
		registry: registry,
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_index_changes_total", Help: "Changes that reached the index, by result.",
		}, []string{"result"}),
		apply: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "toolstream_index_apply_seconds", Help: "Time to make one batch of changes durable and visible.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 10),
		}),
		search: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "toolstream_index_search_seconds", Help: "Time to find the candidates of one query.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 12),
		}),
	}
	m.all = []prometheus.Collector{m.changes, m.apply, m.search, entities{i}}
	for n, c := range m.all {
		if err := registry.Register(c); err != nil {
			m.all = m.all[:n]
			m.unregister()
			return nil, fmt.Errorf("flat: metrics: %w", err)
		}
	}
	return m, nil
}

// unregister makes it possible to open the index again in the same process.
func (m *metrics) unregister() {
	for _, c := range m.all {
		m.registry.Unregister(c)
	}
}

// entities collects what Stats counts, summed over the tenants: metrics do not
// name tenants.
type entities struct{ index *Index }

var (
	countDesc = prometheus.NewDesc("toolstream_index_entities", "Entities that can be searched.", []string{"kind"}, nil)
	bytesDesc = prometheus.NewDesc("toolstream_index_bytes", "Size of the searched data.", []string{"part"}, nil)
)

func (e entities) Describe(ch chan<- *prometheus.Desc) {
	ch <- countDesc
	ch <- bytesDesc
}

func (e entities) Collect(ch chan<- prometheus.Metric) {
	var sum Stats
	for _, s := range e.index.Stats() {
		sum.Tools += s.Tools
		sum.Providers += s.Providers
		sum.Vectors += s.Vectors
		sum.Postings += s.Postings
		sum.Records += s.Records
	}
	gauge := func(desc *prometheus.Desc, value float64, label string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, label)
	}
	gauge(countDesc, float64(sum.Tools), "tool")
	gauge(countDesc, float64(sum.Providers), "provider")
	gauge(bytesDesc, float64(sum.Vectors), "vectors")
	gauge(bytesDesc, float64(sum.Postings), "postings")
	gauge(bytesDesc, float64(sum.Records), "records")
}
