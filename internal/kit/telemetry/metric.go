// Package metric declares metrics, each with a name and a help that docs/metrics.md is
// made of.
package metric

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Factory declares metrics at a registerer.
type Factory struct{ to promauto.Factory }

// At returns a factory.
func At(reg prometheus.Registerer) Factory { return Factory{promauto.With(reg)} }

// NewCounter declares a counter.
func (f Factory) NewCounter(name, help string) prometheus.Counter {
	return f.to.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

// NewCounterVec declares counters by labels. It sets those of the known values of each
// label to 0, where all are known: a counter that appears with its first increment hides
// that increment from increase().
func (f Factory) NewCounterVec(name, help string, labels []string, known ...[]string) *prometheus.CounterVec {
	vec := f.to.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	if len(known) > 0 {
		begin(vec, nil, known)
	}
	return vec
}

func begin(vec *prometheus.CounterVec, values []string, known [][]string) {
	if len(known) == 0 {
		vec.WithLabelValues(values...)
		return
	}
	for _, value := range known[0] {
		begin(vec, append(values, value), known[1:])
	}
}

// NewGauge declares a gauge.
func (f Factory) NewGauge(name, help string) prometheus.Gauge {
	return f.to.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

// NewGaugeVec declares gauges by labels.
func (f Factory) NewGaugeVec(name, help string, labels []string) *prometheus.GaugeVec {
	return f.to.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

// NewGaugeFunc declares a gauge that is read when it is asked for.
func (f Factory) NewGaugeFunc(name, help string, read func() float64) {
	f.to.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
}

// NewHistogram declares a histogram.
func (f Factory) NewHistogram(name, help string, buckets []float64) prometheus.Histogram {
	return f.to.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

// NewHistogramVec declares histograms by labels.
func (f Factory) NewHistogramVec(name, help string, labels []string, buckets []float64) *prometheus.HistogramVec {
	return f.to.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// Bool is the value of a gauge that is 1 or 0.
func Bool(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
