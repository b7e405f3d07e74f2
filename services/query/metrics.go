package query

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/pkg/schema"
)

// How a search ended.
const (
	outcomeOK       = "ok"
	outcomeDegraded = "degraded"
	outcomeInvalid  = "invalid"
	outcomeFailed   = "failed"
)

// Why feedback is not taken.
const (
	unfitInvalid = "invalid"
	unfitDeleted = "deleted"
)

// Why weights or usage are not taken.
const (
	refusedInvalid = "invalid"
	refusedOlder   = "older_epoch"
)

// metrics are the service's figures.
type metrics struct {
	seconds  *prometheus.HistogramVec
	searches *prometheus.CounterVec
	degraded *prometheus.CounterVec
	rewrites *prometheus.CounterVec
	reranks  *prometheus.CounterVec
	results  prometheus.Histogram
	refused  *prometheus.CounterVec
	dropped  prometheus.Counter
	feedback *prometheus.CounterVec
	unfit    *prometheus.CounterVec

	topChanged prometheus.Counter
	overlap    prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "toolstream_search_seconds",
			Help:    "Time a search spends in each stage; stage \"total\" is the whole.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16),
		}, []string{"stage"}),
		searches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_searches_total",
			Help: "Searches by ranking and outcome (ok, degraded, invalid, failed).",
		}, []string{"rank", "outcome"}),
		degraded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_search_degraded_total",
			Help: "Searches that were answered without a part that could not be asked.",
		}, []string{"part"}),
		rewrites: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_search_rewrites_total",
			Help: "Answered searches by where their needs came from (llm, cache, given, off, fallback).",
		}, []string{"rewrite"}),
		reranks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_search_reranks_total",
			Help: "Answered searches that were reordered by the owners of tools, by algorithm (single, multi).",
		}, []string{"algorithm"}),
		results: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "toolstream_search_results",
			Help:    "Results per answered search.",
			Buckets: []float64{0, 1, 2, 5, 10, 20, 50, 100, 1000},
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_search_model_rejected_total",
			Help: "Weights and usage tables that were refused; the last good ones stay.",
		}, []string{"what", "reason"}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_search_impressions_dropped_total",
			Help: "Impressions that did not get onto the bus.",
		}),
		feedback: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_feedback_accepted_total",
			Help: "Feedback events accepted, by event.",
		}, []string{"event"}),
		unfit: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolstream_feedback_refused_total",
			Help: "Feedback events refused when they came, by reason: invalid, deleted (the tool); the trainer counts what it refuses later.",
		}, []string{"reason"}),
		topChanged: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolstream_shadow_top_changed_total",
			Help: "Searches that weights on trial would have answered with another tool first.",
		}),
		overlap: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "toolstream_shadow_overlap",
			Help:    "Share of the first k that weights on trial would have shown too, by search that they scored.",
			Buckets: prometheus.LinearBuckets(0, 0.1, 11),
		}),
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.seconds, m.searches, m.degraded, m.rewrites, m.reranks, m.results, m.refused, m.dropped, m.feedback, m.unfit, m.topChanged, m.overlap} {
		errs = append(errs, reg.Register(c))
	}
	m.begin()
	return m, errors.Join(errs...)
}

// begin lets what can be named beforehand start at 0: whoever asks for an increase
// does not see the first of what begins with 1.
func (m *metrics) begin() {
	for _, rank := range []schema.Rank{schema.RankTools, schema.RankAgents} {
		for _, outcome := range []string{outcomeOK, outcomeDegraded, outcomeInvalid, outcomeFailed} {
			m.searches.WithLabelValues(string(rank), outcome)
		}
	}
	for _, part := range []string{degradedVectors, degradedCatalogue, degradedWeights, degradedImpressions, degradedRerank} {
		m.degraded.WithLabelValues(part)
	}
	for _, algorithm := range []schema.Rerank{schema.RerankSingle, schema.RerankMulti} {
		m.reranks.WithLabelValues(string(algorithm))
	}
	for _, reason := range []string{unfitInvalid, unfitDeleted} {
		m.unfit.WithLabelValues(reason)
	}
	for _, what := range []string{"weights", "shadow", "usage"} {
		for _, reason := range []string{refusedInvalid, refusedOlder} {
			m.refused.WithLabelValues(what, reason)
		}
	}
}

// observe shows what searches rank by: by how far it has come of each kind, the
// replicas of a deployment can be told apart.
func (s *Service) observe(reg prometheus.Registerer) error {
	var errs []error
	for what, epochs := range map[string]func() uint64{"weights": s.models.epochs, "shadow": s.shadows.epochs, "usage": s.usage.epochs} {
		errs = append(errs, reg.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "toolstream_search_model_epoch", ConstLabels: prometheus.Labels{"what": what},
			Help: "Epochs of the weights, weights on trial (shadow) and usage that this replica ranks by, summed over the tenants: a replica that is behind others has less.",
		}, func() float64 { return float64(epochs()) })))
	}
	return errors.Join(errs...)
}

// stage starts the clock of a stage; the function it returns stops it.
func (m *metrics) stage(name string) func() {
	start := time.Now()
	return func() { m.seconds.WithLabelValues(name).Observe(time.Since(start).Seconds()) }
}

// searched counts one search. What can not have come from an answer of ours is
// not used as a label.
func (m *metrics) searched(rank schema.Rank, resp schema.SearchResponse, err error, took time.Duration) {
	m.seconds.WithLabelValues("total").Observe(took.Seconds())
	if resp.Chosen != nil {
		rank = resp.Chosen.Rank
	}
	if rank != schema.RankAgents {
		rank = schema.RankTools
	}
	m.searches.WithLabelValues(string(rank), outcome(resp, err)).Inc()
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

func outcome(resp schema.SearchResponse, err error) string {
	var invalid *schema.Invalid
	switch {
	case errors.As(err, &invalid):
		return outcomeInvalid
	case err != nil:
		return outcomeFailed
	case len(resp.Degraded) > 0:
		return outcomeDegraded
	}
	return outcomeOK
}
