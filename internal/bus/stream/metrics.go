package stream

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Values of the label class of toolstream_stage_errors_total. Permanent
// failures are counted by reason in toolstream_stage_dead_letters_total too.
const (
	classTransient = "transient"
	classPermanent = "permanent"
	classPanic     = "panic"
	classBus       = "bus"
)

// metrics of one stage. The stage's name is a constant label, so that any
// number of stages share one registry.
type metrics struct {
	messages    prometheus.Counter
	batches     prometheus.Histogram
	duration    prometheus.Histogram
	retries     prometheus.Counter
	errors      *prometheus.CounterVec
	deadLetters *prometheus.CounterVec
	lag         *prometheus.GaugeVec
}

func newMetrics(stage string, reg prometheus.Registerer) *metrics {
	labels := prometheus.Labels{"stage": stage}
	auto := promauto.With(reg)
	m := &metrics{
		messages: auto.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_stage_messages_total", ConstLabels: labels,
			Help: "Records a stage has processed, dead letters included.",
		}),
		batches: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "toolstream_stage_batch_size", ConstLabels: labels,
			Help:    "Records in a batch.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}),
		duration: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "toolstream_stage_duration_seconds", ConstLabels: labels,
			Help:    "Time from reading a batch to committing it, retries included.",
			Buckets: prometheus.ExponentialBuckets(0.001, 3, 12),
		}),
		retries: auto.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_stage_retries_total", ConstLabels: labels,
			Help: "Retries after transient failures.",
		}),
		errors: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_stage_errors_total", ConstLabels: labels,
			Help: "Failures: transient and panic are retried, permanent becomes a dead letter, bus is a failed read, write or commit.",
		}, []string{"class"}),
		deadLetters: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_stage_dead_letters_total", ConstLabels: labels,
			Help: "Records given up, by reason.",
		}, []string{"reason"}),
		lag: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "toolstream_stage_lag", ConstLabels: labels,
			Help: "Offsets between a stage's position and the end of the topic at the stage's last look; an upper bound on a compacted topic.",
		}, []string{"partition"}),
	}
	// A counter that appears with its first increment hides that increment from increase().
	for _, class := range []string{classTransient, classPermanent, classPanic, classBus} {
		m.errors.WithLabelValues(class)
	}
	for _, reason := range []string{ReasonUndecodable, ReasonPanic, ReasonTooLarge} {
		m.deadLetters.WithLabelValues(reason)
	}
	return m
}
