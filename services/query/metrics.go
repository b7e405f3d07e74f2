package query

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/metric"
	"github.com/toolstream/toolstream/internal/tracing"
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

// Why feedback is not taken.
const (
	unfitInvalid  = "invalid"
	unfitSearch   = "unknown_search" // no search of the tenant can have the id
	unfitNotShown = "not_shown"
	unfitDeleted  = "deleted"
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
}

func newMetrics(reg prometheus.Registerer) *metrics {
	on := metric.At(reg)
	return &metrics{
		seconds: on.NewHistogramVec("toolstream_search_seconds", "Time a search spends in each stage; stage \"total\" is the whole.",
			[]string{"stage"}, prometheus.ExponentialBuckets(0.0001, 2, 16)),
		searches: on.NewCounterVec("toolstream_searches_total", "Searches by ranking and outcome (ok, degraded, invalid, failed; refused: too many others waited).",
			[]string{"rank", "outcome"}, []string{string(schema.RankTools), string(schema.RankProviders)},
			[]string{outcomeOK, outcomeDegraded, outcomeInvalid, outcomeFailed, outcomeRefused}),
		degraded: on.NewCounterVec("toolstream_search_degraded_total", "Searches that were answered without a part that could not be asked.",
			[]string{"part"}, []string{degradedVectors, degradedCatalogue, degradedWeights, degradedImpressions, degradedRerank}),
		rewrites: on.NewCounterVec("toolstream_search_rewrites_total",
			"Answered searches by where their needs came from (llm, cache, given, off, fallback).", []string{"rewrite"}),
		reranks: on.NewCounterVec("toolstream_search_reranks_total",
			"Answered searches that were reordered by the owners of tools, by algorithm (single, multi).",
			[]string{"algorithm"}, []string{string(schema.RerankSingle), string(schema.RerankMulti)}),
		results: on.NewHistogram("toolstream_search_results", "Results per answered search.", []float64{0, 1, 2, 5, 10, 20, 50, 100, 1000}),
		refused: on.NewCounterVec("toolstream_search_model_rejected_total", "Weights and usage tables that were refused; the last good ones stay.",
			[]string{"what", "reason"}, []string{"weights", "usage"}, []string{refusedInvalid, refusedOlder}),
		dropped:  on.NewCounter("toolstream_search_impressions_dropped_total", "Impressions that did not get onto the bus."),
		feedback: on.NewCounterVec("toolstream_feedback_accepted_total", "Feedback events accepted, by event.", []string{"event"}),
		unfit: on.NewCounterVec("toolstream_feedback_refused_total",
			"Feedback events refused when they came, by reason: invalid, unknown_search (no search of the tenant has the id), not_shown (the tool), deleted (the tool). The trainer counts what it refuses later.",
			[]string{"reason"}, []string{unfitInvalid, unfitSearch, unfitNotShown, unfitDeleted}),
	}
}

// showEpochs shows by which epochs of weights and usage searches rank: replicas that are
// behind others can be told apart by it.
func (s *Service) showEpochs(reg prometheus.Registerer) {
	for what, epochs := range map[string]func() uint64{"weights": s.weights.epochs, "usage": s.usage.epochs} {
		promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{
			Name: "toolstream_search_model_epoch", ConstLabels: prometheus.Labels{"what": what},
			Help: "Epochs of the weights and the usage that this replica ranks by, summed over the tenants: a replica that is behind others has less.",
		}, func() float64 { return float64(epochs()) })
	}
}

// showQueue shows how many searches wait.
func (m *metrics) showQueue(reg prometheus.Registerer, q *queue) {
	metric.At(reg).NewGaugeFunc("toolstream_searches_waiting", "Searches that wait for their turn: as many work at once as there are processors.",
		func() float64 { return float64(q.length()) })
}

// searched counts one search.
func (m *metrics) searched(rank schema.Rank, resp schema.SearchResponse, err error, took time.Duration) {
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

// stage is a part of a search at work: its time is measured, and it is a span.
type stage struct {
	trace.Span
	seconds prometheus.Observer
	start   time.Time
}

// stage begins a part of a search.
func (s *Service) stage(ctx context.Context, name string) (context.Context, stage) {
	ctx, span := tracing.Begin(ctx, name)
	return ctx, stage{span, s.metrics.seconds.WithLabelValues(name), time.Now()}
}

// note adds attributes to the span of the stage, if it is recorded.
func (st stage) note(attributes ...attribute.KeyValue) {
	if st.IsRecording() {
		st.SetAttributes(attributes...)
	}
}

// end ends the stage with what came of it. It is called once.
func (st stage) end(err error) {
	st.seconds.Observe(time.Since(st.start).Seconds())
	tracing.End(st.Span, err)
}
