package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// MetricFactory declares metrics at a registerer, each with a name and a help. docs/metrics.md
// is generated from the declarations.
type MetricFactory struct{ to promauto.Factory }

// Metrics returns a factory.
func Metrics(reg prometheus.Registerer) MetricFactory { return MetricFactory{promauto.With(reg)} }

// NewCounter declares a counter.
func (f MetricFactory) NewCounter(name, help string) prometheus.Counter {
	return f.to.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

// NewCounterVec declares counters by labels. If all label values are known, it sets their counters
// to 0: a counter that appears with its first increment hides that increment from increase().
func (f MetricFactory) NewCounterVec(name, help string, labels []string, known ...[]string) *prometheus.CounterVec {
	vec := f.to.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	if len(known) > 0 {
		addSeries(vec, nil, known)
	}
	return vec
}

func addSeries(vec *prometheus.CounterVec, values []string, known [][]string) {
	if len(known) == 0 {
		vec.WithLabelValues(values...)
		return
	}
	for _, value := range known[0] {
		addSeries(vec, append(values, value), known[1:])
	}
}

// NewGauge declares a gauge.
func (f MetricFactory) NewGauge(name, help string) prometheus.Gauge {
	return f.to.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

// NewGaugeVec declares gauges by labels.
func (f MetricFactory) NewGaugeVec(name, help string, labels []string) *prometheus.GaugeVec {
	return f.to.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

// NewGaugeFunc declares a gauge that is read on each scrape.
func (f MetricFactory) NewGaugeFunc(name, help string, read func() float64) {
	f.to.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
}

// NewHistogram declares a histogram.
func (f MetricFactory) NewHistogram(name, help string, buckets []float64) prometheus.Histogram {
	return f.to.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

// NewHistogramVec declares histograms by labels.
func (f MetricFactory) NewHistogramVec(name, help string, labels []string, buckets []float64) *prometheus.HistogramVec {
	return f.to.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// Bool is the value of a gauge that is 1 or 0.
func Bool(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
