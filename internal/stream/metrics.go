package stream

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
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

func newMetrics(stage string, reg prometheus.Registerer) (*metrics, error) {
	labels := prometheus.Labels{"stage": stage}
	m := &metrics{
		messages: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_stage_messages_total", ConstLabels: labels,
			Help: "Records that a stage is done with, dead letters included.",
		}),
		batches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "toolstream_stage_batch_size", ConstLabels: labels,
			Help:    "Records in a batch.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "toolstream_stage_duration_seconds", ConstLabels: labels,
			Help:    "Time from a batch being read to its being committed, retries included.",
			Buckets: prometheus.ExponentialBuckets(0.001, 3, 12),
		}),
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_stage_retries_total", ConstLabels: labels,
			Help: "Times that a stage waited after a transient failure and tried again.",
		}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_stage_errors_total", ConstLabels: labels,
			Help: "Failures by class: transient and panic are retried, permanent becomes a dead letter, bus is a failed read, write or commit.",
		}, []string{"class"}),
		deadLetters: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_stage_dead_letters_total", ConstLabels: labels,
			Help: "Records given up, by reason.",
		}, []string{"reason"}),
		lag: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "toolstream_stage_lag", ConstLabels: labels,
			Help: "Offsets between a stage's position and the end of the topic when the stage last looked; on a compacted topic an upper bound of the records waiting.",
		}, []string{"partition"}),
	}
	for _, c := range []prometheus.Collector{m.messages, m.batches, m.duration, m.retries, m.errors, m.deadLetters, m.lag} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("stream: register metrics of stage %s: %w", stage, err)
		}
	}
	m.begin()
	return m, nil
}

// begin lets what can be named beforehand start at 0: whoever asks for an increase
// does not see the first of what begins with 1.
func (m *metrics) begin() {
	for _, class := range []string{classTransient, classPermanent, classPanic, classBus} {
		m.errors.WithLabelValues(class)
	}
	for _, reason := range []string{ReasonUndecodable, ReasonPanic, ReasonTooLarge} {
		m.deadLetters.WithLabelValues(reason)
	}
}
