package embedder

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/metric"
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

// Fields that are embedded only in their first parts.
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

func newMetrics(reg prometheus.Registerer) *metrics {
	on := metric.At(reg)
	return &metrics{
		texts: on.NewCounter("toolstream_embedder_embedded_texts_total", "Texts given to the model."),
		hits: on.NewCounterVec("toolstream_embedder_cache_hits_total",
			"Texts whose vector was known, by where: memory, index (stored with the same entity), batch, query.",
			[]string{"from"}, []string{hitMemory, hitIndex, hitBatch, hitQuery}),
		seconds: on.NewHistogram("toolstream_embedder_call_seconds", "Time of one call of the model.",
			prometheus.ExponentialBuckets(0.00001, 4, 12)),
		cut: on.NewCounterVec("toolstream_embedder_cut_fields_total", "Documents with more parameters or examples than are embedded, by field.",
			[]string{"field"}, []string{cutParameters, cutExamples}),
		rejected: on.NewCounter("toolstream_embedder_bad_vectors_total", "Texts for which the model gave no usable vector."),
		failures: on.NewCounterVec("toolstream_embedder_call_failures_total",
			"Calls of the model that failed, after what its adapter tried, by class: transient, permanent.",
			[]string{"class"}, []string{classTransient, classPermanent}),
	}
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

// newFreshness returns the metric of an index writer.
func newFreshness(reg prometheus.Registerer) prometheus.Histogram {
	return metric.At(reg).NewHistogram("toolstream_freshness_seconds",
		"Time from a change's being accepted to its being searchable, in the index that is searched.",
		freshnessBounds())
}

// newLag returns the metric of what sources bring.
func newLag(reg prometheus.Registerer) prometheus.Histogram {
	return metric.At(reg).NewHistogram("toolstream_source_lag_seconds",
		"Time from a change's being seen at a source to its being searchable, in the index that is searched.", freshnessBounds())
}

func freshnessBounds() []float64 {
	return []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 21600}
}
