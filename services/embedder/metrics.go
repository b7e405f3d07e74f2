package embedder

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

// Where the vector of a text was found.
const (
	hitMemory = "memory" // embedded recently
	hitIndex  = "index"  // stored with the same entity
	hitBatch  = "batch"  // twice in a batch
	hitQuery  = "query"  // a text of a query, embedded recently
)

// How a call of the model failed.
const (
	classTransient = "transient"
	classPermanent = "permanent"
)

// Fields whose first elements alone are embedded.
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
	on := telemetry.Metrics(reg)
	return &metrics{
		texts: on.NewCounter("toolstream_embedder_embedded_texts_total", "Texts given to the model."),
		hits: on.NewCounterVec("toolstream_embedder_cache_hits_total",
			"Texts with a known vector, by its place: memory, index (stored with the same entity), batch, query.",
			[]string{"from"}, []string{hitMemory, hitIndex, hitBatch, hitQuery}),
		seconds: on.NewHistogram("toolstream_embedder_call_seconds", "Time of one call of the model.",
			prometheus.ExponentialBuckets(0.00001, 4, 12)),
		cut: on.NewCounterVec("toolstream_embedder_cut_fields_total", "Documents with too many parameters or examples to embed all, by field.",
			[]string{"field"}, []string{cutParameters, cutExamples}),
		rejected: on.NewCounter("toolstream_embedder_bad_vectors_total", "Texts without a usable vector."),
		failures: on.NewCounterVec("toolstream_embedder_call_failures_total",
			"Calls of the model that failed after all attempts, by class: transient, permanent.",
			[]string{"class"}, []string{classTransient, classPermanent}),
	}
}

func (m *metrics) hit(from string) { m.hits.WithLabelValues(from).Inc() }

func freshnessBounds() []float64 {
	return []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 21600}
}
