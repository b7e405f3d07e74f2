package embedder

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/stream"
)

// Where a vector was found that did not have to be computed.
const (
	hitMemory = "memory" // embedded lately
	hitIndex  = "index"  // stored with the same entity
	hitBatch  = "batch"  // asked for twice at once
	hitQuery  = "query"  // a query's text, embedded lately or just now
)

// How a call of the model failed.
const (
	classTransient = "transient"
	classPermanent = "permanent"
)

// Fields of which only the first are embedded.
const (
	cutParameters = "parameters"
	cutExamples   = "examples"
)

// metrics are the figures of the stage and of query embedding.
type metrics struct {
	texts    prometheus.Counter
	hits     *prometheus.CounterVec
	seconds  prometheus.Histogram
	cut      *prometheus.CounterVec
	rejected prometheus.Counter
	failures *prometheus.CounterVec
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
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_embedder_call_failures_total",
			Help: "Calls of the model that failed, after what its adapter tried, by class: transient, permanent.",
		}, []string{"class"}),
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.texts, m.hits, m.seconds, m.cut, m.rejected, m.failures} {
		errs = append(errs, reg.Register(c))
	}
	for _, class := range []string{classTransient, classPermanent} {
		m.failures.WithLabelValues(class) // the first one counts too
	}
	for _, from := range []string{hitMemory, hitIndex, hitBatch, hitQuery} {
		m.hits.WithLabelValues(from)
	}
	for _, field := range []string{cutParameters, cutExamples} {
		m.cut.WithLabelValues(field)
	}
	return m, errors.Join(errs...)
}

// called counts a call of the model; the function it returns ends it.
func (m *metrics) called(texts int) func(error) {
	m.texts.Add(float64(texts))
	start := time.Now()
	return func(err error) {
		m.seconds.Observe(time.Since(start).Seconds())
		if _, permanent := stream.AsPermanent(err); permanent {
			m.failures.WithLabelValues(classPermanent).Inc()
		} else if err != nil {
			m.failures.WithLabelValues(classTransient).Inc()
		}
	}
}

func (m *metrics) hit(from string) { m.hits.WithLabelValues(from).Inc() }

// newFreshness returns the one figure of an index writer. Its bounds are those
// that a promise is made in.
func newFreshness(reg prometheus.Registerer) (prometheus.Histogram, error) {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "toolstream_freshness_seconds",
		Help:    "Time from a change's being accepted to its being searchable, in the index that is searched.",
		Buckets: []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 21600},
	})
	return h, reg.Register(h)
}
