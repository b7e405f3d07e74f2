package search

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/fairqueue"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/schema"
)

// How a search ended.
const (
	outcomeOK       = "ok"
	outcomeDegraded = "degraded"
	outcomeInvalid  = "invalid"
	outcomeFailed   = "failed"
	outcomeRefused  = "refused"
)

// metrics are the service's figures.
type metrics struct {
	seconds  *prometheus.HistogramVec
	searches *prometheus.CounterVec
	degraded *prometheus.CounterVec
	rewrites *prometheus.CounterVec
	reranks  *prometheus.CounterVec
	results  prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, queue *fairqueue.Queue) *metrics {
	on := telemetry.Metrics(reg)
	on.NewGaugeFunc("toolstream_searches_waiting", "Searches that wait for a free processor.",
		func() float64 { return float64(queue.Waiting()) })
	return &metrics{
		seconds: on.NewHistogramVec("toolstream_search_seconds", "Time of each stage of a search; \"total\" is the whole.",
			[]string{"stage"}, prometheus.ExponentialBuckets(0.0001, 2, 16)),
		searches: on.NewCounterVec("toolstream_searches_total", "Searches by ranking and outcome: ok, degraded, invalid, failed, refused (too many waited).",
			[]string{"rank", "outcome"}, []string{string(schema.RankTools), string(schema.RankProviders)},
			[]string{outcomeOK, outcomeDegraded, outcomeInvalid, outcomeFailed, outcomeRefused}),
		degraded: on.NewCounterVec("toolstream_search_degraded_total", "Searches that were answered without a part that was away.",
			[]string{"part"}, []string{degradedVectors, degradedCatalogue, degradedWeights, degradedImpressions, degradedRerank}),
		rewrites: on.NewCounterVec("toolstream_search_rewrites_total",
			"Answered searches by the origin of their needs: llm, cache, given, off, fallback.", []string{"rewrite"}),
		reranks: on.NewCounterVec("toolstream_search_reranks_total",
			"Answered searches that were reordered by owner, by algorithm: single, multi.",
			[]string{"algorithm"}, []string{string(schema.RerankSingle), string(schema.RerankMulti)}),
		results: on.NewHistogram("toolstream_search_results", "Results per answered search.", []float64{0, 1, 2, 5, 10, 20, 50, 100, 1000}),
	}
}

// count counts one search.
func (m *metrics) count(rank schema.Rank, resp schema.SearchResponse, err error, took time.Duration) {
	m.seconds.WithLabelValues("total").Observe(took.Seconds())
	if resp.Chosen != nil {
		rank = resp.Chosen.Rank
	}
	if rank != schema.RankProviders {
		rank = schema.RankTools
	}
	var invalid *schema.Invalid
	outcome := outcomeOK
	switch {
	case errors.As(err, &invalid):
		outcome = outcomeInvalid
	case errors.Is(err, ErrBusy):
		outcome = outcomeRefused
	case err != nil:
		outcome = outcomeFailed
	case len(resp.Degraded) > 0:
		outcome = outcomeDegraded
	}
	m.searches.WithLabelValues(string(rank), outcome).Inc()
	if err != nil {
		return
	}
	m.rewrites.WithLabelValues(string(resp.Rewrite)).Inc()
	if resp.Reranked != "" {
		m.reranks.WithLabelValues(string(resp.Reranked)).Inc()
	}
	m.results.Observe(float64(len(resp.Results)))
	for _, part := range resp.Degraded {
		m.degraded.WithLabelValues(part).Inc()
	}
}
