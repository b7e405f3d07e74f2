package embedder

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Where a vector was found that did not have to be computed.
const (
	hitMemory = "memory" // embedded lately
	hitIndex  = "index"  // stored with the same entity
	hitBatch  = "batch"  // asked for twice at once
	hitQuery  = "query"  // a query's text, embedded lately or just now
)

// metrics are the figures of the stage and of query embedding.
type metrics struct {
	texts    prometheus.Counter
	hits     *prometheus.CounterVec
	seconds  prometheus.Histogram
	cut      *prometheus.CounterVec
	rejected prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		texts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_embedder_embedded_texts_total",
			Help: "Texts given to the model.",
		}),
		hits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_embedder_cache_hits_total",
			Help: "Texts whose vector was known, by where: memory, index (stored with the same entity), batch, query.",
		}, []string{"from"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "toolstream_embedder_call_seconds",
			Help:    "Time of one call of the model.",
			Buckets: prometheus.ExponentialBuckets(0.00001, 4, 12),
		}),
		cut: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_embedder_cut_fields_total",
			Help: "Documents with more parameters or examples than are embedded, by field.",
		}, []string{"field"}),
		rejected: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_embedder_bad_vectors_total",
			Help: "Texts for which the model gave no usable vector.",
		}),
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.texts, m.hits, m.seconds, m.cut, m.rejected} {
		errs = append(errs, reg.Register(c))
	}
	return m, errors.Join(errs...)
}

// called counts a call of the model; the function it returns ends it.
func (m *metrics) called(texts int) func() {
	m.texts.Add(float64(texts))
	start := time.Now()
	return func() { m.seconds.Observe(time.Since(start).Seconds()) }
}

func (m *metrics) hit(from string) { m.hits.WithLabelValues(from).Inc() }
