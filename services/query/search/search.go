// Package search answers searches. A search goes through its stages in this order: rewrite, wait
// for a turn, retrieve, order, results, record. Each stage but the wait has a file of its own,
// which reads from top to bottom in the order of the calls, and returns what the next stage takes.
//
// No search waits for a language model unless one is configured, and no part is needed but the
// index: an answer names every other part that did not respond in Degraded.
package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/kit/fairqueue"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/catalogue"
)

// Search answers a request of a caller. Its error is a *schema.Invalid for a request that is not
// acceptable, or the context's once that has ended. It wraps catalogue.ErrUnavailable if nothing
// could be searched, and is ErrBusy if too many other searches are under way.
func (s *Searcher) Search(ctx context.Context, caller identity.Caller, req schema.SearchRequest) (schema.SearchResponse, error) {
	start := time.Now()
	ctx, span := telemetry.StartSpan(ctx, "search")
	resp, err := (&request{Searcher: s, caller: caller, req: req}).search(ctx)
	if span.IsRecording() { // never the words of the query
		span.SetAttributes(
			telemetry.Tenant.String(caller.Tenant), telemetry.Rank.String(string(req.Rank)), telemetry.K.Int(req.K), telemetry.QueryLength.Int(len(req.Query)),
			telemetry.Search.String(resp.SearchID), telemetry.Weights.String(resp.Weights), telemetry.Results.Int(len(resp.Results)),
			telemetry.Rewrite.String(string(resp.Rewrite)), telemetry.Reranked.String(string(resp.Reranked)), telemetry.Degraded.StringSlice(resp.Degraded),
		)
	}
	telemetry.EndSpan(span, err)
	took := time.Since(start)
	s.metrics.count(req.Rank, resp, err, took)
	resp.TookMS = float64(took.Microseconds()) / 1000
	return resp, err
}

// request is a search under way, which its stages share. After search has set it up, stages
// change nothing but degraded.
type request struct {
	*Searcher
	caller   identity.Caller
	req      schema.SearchRequest
	scope    *policy.Scope   // the entities that the caller may find
	callable *index.Callable // the tools that it wants to be able to call; nil: all
	index    *snapshot       // the same from beginning to end
	slot     *fairqueue.Slot // of the queue; nil for a search that does not wait for one
	model    *fusion.Model
	usage    *ranking.Usage
	degraded parts
}

// search takes a request through the stages. A search of an evaluation has its index and its
// turn before.
func (rq *request) search(ctx context.Context) (schema.SearchResponse, error) {
	capped, err := rq.validate()
	if err != nil {
		return schema.SearchResponse{}, err
	}
	if rq.scope, err = catalogue.Scope(ctx, rq.deps.Policy, rq.caller); err != nil {
		return schema.SearchResponse{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, rq.cfg.Timeout)
	defer cancel()
	if rq.index == nil {
		now, release := rq.current()
		defer release()
		rq.index = now
	}
	if rq.req.Connected {
		rq.callable = rq.calls.Callable(rq.caller)
	}
	rq.usage = rq.deps.Weights.Usage(rq.caller.Tenant)
	if rq.model, err = rq.weights(ctx); err != nil {
		return schema.SearchResponse{}, err
	}
	if rq.deps.Weights.Stale() {
		rq.degraded.add(degradedWeights)
	}
	var q query
	rq.withoutSlot(rq.deps.Rewriter != nil, func() { q = rq.rewrite(ctx) })
	if rq.slot == nil {
		waiting, st := rq.stage(ctx, "wait")
		rq.slot, err = rq.queue.Acquire(waiting, fairqueue.Claim{Group: rq.caller.Tenant, Member: rq.caller.Subject})
		if errors.Is(err, fairqueue.ErrFull) || errors.Is(err, context.DeadlineExceeded) {
			err = ErrBusy
		}
		if st.end(err); err != nil {
			return schema.SearchResponse{}, err
		}
		defer rq.slot.Release()
	}
	found, err := rq.retrieve(ctx, q, 0)
	if err != nil {
		return schema.SearchResponse{}, err
	}
	ctx, st := rq.stage(ctx, "answer")
	defer st.end(nil)
	found, ranked := rq.order(ctx, q, found)
	var whole [][]ranking.Ranked
	if rq.narrow() {
		if whole = rq.whole(ctx, found); whole != nil {
			stand(ranked.hits, whole)
		}
	}
	results, shown, tools := rq.results(ctx, q, found, ranked)
	form := catalogue.Detail(ctx, &rq.req.Wanted, tools)
	resp := schema.SearchResponse{
		SearchID: rq.record(ctx, found.Vector, shown),
		Weights:  rq.model.Version,
		Rewrite:  q.source,
		Reranked: schema.Rerank(ranked.algorithm),
		KCapped:  capped,
		Chosen:   found.Chosen,
		Results:  results,
		InForm:   form,
	}
	rq.withhold(ctx, found, whole, &resp)
	resp.Degraded = rq.degraded.names()
	if rq.req.Explain {
		resp.Searched = &schema.Searched{Needs: append([]schema.Need{}, q.needs...), Arguments: map[string]string{}, Read: append([]schema.Correction{}, q.read...)}
		maps.Copy(resp.Searched.Arguments, q.meanings)
	}
	return resp, nil
}

// validate normalizes the request, sets the reranking that it leaves open, and refuses it if it
// cannot be answered here. It reports whether the number of results was capped.
func (rq *request) validate() (capped bool, err error) {
	if capped, err = rq.req.Normalize(); err != nil {
		return false, err
	}
	rq.req.Rerank = cmp.Or(rq.req.Rerank, rq.cfg.Rerank)
	for i, flag := range rq.req.Exclude {
		if len(rq.cfg.Flags) > 0 && !slices.Contains(rq.cfg.Flags, flag) {
			return false, &schema.Invalid{
				Path: fmt.Sprintf("/exclude_flags/%d", i), Value: schema.Quote(flag),
				Reason: "must be one of " + strings.Join(rq.cfg.Flags, ", "),
			}
		}
	}
	if rq.req.Connected && rq.calls == nil {
		return false, &schema.Invalid{Path: "/connected", Reason: "must be absent: this server calls no tools"}
	}
	return capped, nil
}

// weights returns the weights that the request names, or the live weights of the tenant. The
// error is ErrNotOperator, a *schema.Invalid, or wraps catalogue.ErrUnavailable.
func (rq *request) weights(ctx context.Context) (*fusion.Model, error) {
	model := cmp.Or(rq.deps.Weights.Live(rq.caller.Tenant, rq.index.Model), rq.index.builtin)
	switch version := rq.req.Weights; {
	case version == "":
	case !rq.caller.Role.Includes(identity.Operator):
		return nil, ErrNotOperator
	case version == LiveWeights, version == model.Version:
	case version == fusion.BuiltinName:
		model = rq.index.builtin
	default:
		var err error
		model, err = rq.deps.Weights.Version(ctx, rq.caller.Tenant, rq.index.Model, version)
		if err != nil && !errors.As(err, new(*schema.Invalid)) {
			err = fmt.Errorf("%w: %w", catalogue.ErrUnavailable, err)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(rq.req.Arguments) > 0 {
		return model, nil
	}
	// A missing parameter costs nothing if the caller does not list the arguments that it can
	// provide: a language model only reads incidental mentions in a query.
	free := *model
	free.Required, free.Optional = 0, 0
	return &free, nil
}

// withoutSlot does what may wait for another process. If it does, the search gives its slot up meanwhile.
func (rq *request) withoutSlot(elsewhere bool, do func()) {
	if rq.slot == nil || !elsewhere {
		do()
		return
	}
	rq.slot.Away(do)
}

// stage is a part of a search at work: its time is measured, and it is a span.
type stage struct {
	trace.Span
	seconds prometheus.Observer
	start   time.Time
}

// stage begins a part of a search.
func (s *Searcher) stage(ctx context.Context, name string) (context.Context, stage) {
	ctx, span := telemetry.StartSpan(ctx, name)
	return ctx, stage{span, s.metrics.seconds.WithLabelValues(name), time.Now()}
}

// end ends the stage with its outcome. It is called once.
func (st stage) end(err error) {
	st.seconds.Observe(time.Since(st.start).Seconds())
	telemetry.EndSpan(st.Span, err)
}

// The parts that an answer may have gone without.
const (
	degradedVectors     = "vectors"     // no embedding: ranked by words alone
	degradedIndex       = "index"       // a part of the index: ranked by words alone
	degradedCatalogue   = "catalogue"   // some results lack their catalogue data
	degradedWeights     = "weights"     // the store of weights and usage is away: the last known serve
	degradedImpressions = "impressions" // the search is not recorded, feedback on it is lost
	degradedRerank      = "rerank"      // the results are in the order of their scores
)

// parts are the parts that a search went without. Its methods may be called concurrently.
type parts struct {
	mu   sync.Mutex
	list []string
}

func (p *parts) add(part string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.list, part) {
		p.list = append(p.list, part)
	}
}

// names returns the parts in their order, never nil.
func (p *parts) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, slices.Sorted(slices.Values(p.list))...)
}
