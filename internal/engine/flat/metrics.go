package flat

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// What became of a change.
const (
	changeUpserted = "upserted"
	changeDeleted  = "deleted"
	changeStale    = "stale" // what is stored is as new or newer
)

func changeOf(r *record) string {
	if r.Deleted {
		return changeDeleted
	}
	return changeUpserted
}

// metrics are what an operator sees of an index.
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
			Name: "toolstream_index_changes_total", Help: "Changes that reached the index, by what became of them.",
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

// unregister lets the index be opened again in the same process.
func (m *metrics) unregister() {
	for _, c := range m.all {
		m.registry.Unregister(c)
	}
}

// searching measures until the function that it returns is called.
func (m *metrics) searching() func() {
	start := time.Now()
	return func() { m.search.Observe(time.Since(start).Seconds()) }
}

func (m *metrics) applying() func() {
	start := time.Now()
	return func() { m.apply.Observe(time.Since(start).Seconds()) }
}

// entities collects what Stats counts, summed over the tenants: metrics do not
// name tenants.
type entities struct{ index *Index }

var (
	countDesc = prometheus.NewDesc("toolstream_index_entities", "Entities that can be searched.", []string{"kind"}, nil)
	bytesDesc = prometheus.NewDesc("toolstream_index_bytes", "Size of what is searched.", []string{"part"}, nil)
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
