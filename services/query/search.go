package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/audit"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The parts that an answer may have gone without.
const (
	degradedVectors     = "vectors"     // no embedding: ranked by words alone
	degradedIndex       = "index"       // a part of the index: ranked by words alone
	degradedCatalogue   = "catalogue"   // some results lack what the catalogue says of them
	degradedWeights     = "weights"     // the store of weights and usage is away: the last known serve
	degradedImpressions = "impressions" // the search is not recorded, feedback on it is lost
	degradedRerank      = "rerank"      // the results stand in the order of their scores
)

// ErrUnavailable is wrapped by every error that says that nothing could be
// searched at the moment.
var ErrUnavailable = errors.New("search is unavailable")

// search is what the stages of one search share. No stage changes anything but parts,
// to which it adds what it went without; collapse may set the depth.
type search struct {
	tenant string
	caller identity.Caller
	scope  *policy.Scope // what the caller may find
	req    schema.SearchRequest
	index  *snapshot // what is searched, from beginning to end
	model  *fusion.Model
	usage  *ranking.Usage
	held   []string // flags of what stands behind all others
	depth  int      // candidates of each step; 0: enough for the request
	turn   *turn    // nil for evaluation and training in a laboratory
	parts  parts
}

// teaches reports whether something may be learned from what users do with the results.
func (sr *search) teaches() bool { return sr.req.Weights == "" }

// parts are those that a search went without. Its methods may be called concurrently.
type parts struct {
	mu   sync.Mutex
	list []string
}

func (p *parts) without(part string) {
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

// Search answers a request of a caller. Its error is a *schema.Invalid for a
// request that is not acceptable, wraps ErrUnavailable where nothing could be
// searched, which is ErrBusy where too many others are, and is the context's once that
// has ended.
func (s *Service) Search(ctx context.Context, caller identity.Caller, req schema.SearchRequest) (schema.SearchResponse, error) {
	start := time.Now()
	ctx, span := tracing.Begin(ctx, "search")
	resp, err := s.search(ctx, caller, req, nil)
	if span.IsRecording() { // never the words of the query
		span.SetAttributes(
			tracing.Tenant.String(caller.Tenant), tracing.Rank.String(string(req.Rank)), tracing.K.Int(req.K), tracing.QueryLength.Int(len(req.Query)),
			tracing.Search.String(resp.SearchID), tracing.Weights.String(resp.Weights), tracing.Results.Int(len(resp.Results)),
			tracing.Rewrite.String(string(resp.Rewrite)), tracing.Reranked.String(string(resp.Reranked)), tracing.Degraded.StringSlice(resp.Degraded),
		)
	}
	tracing.End(span, err)
	took := time.Since(start)
	s.metrics.searched(req.Rank, resp, err, took)
	resp.TookMS = float64(took.Microseconds()) / 1000
	return resp, err
}

// search takes a request through the stages: rewrite, wait, retrieve, order, show, record.
// One of an evaluation has its turn before.
func (s *Service) search(ctx context.Context, caller identity.Caller, req schema.SearchRequest, of *measured) (schema.SearchResponse, error) {
	capped, err := req.Normalize()
	if err == nil {
		err = s.knowsFlags(req.Exclude)
	}
	if err == nil && req.Connected && s.connections == nil {
		err = &schema.Invalid{Path: "/connected", Reason: "must be absent: this server calls no tools"}
	}
	if err != nil {
		return schema.SearchResponse{}, err
	}
	scope, err := s.scope(ctx, caller)
	if err != nil {
		return schema.SearchResponse{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	index, turn, release, err := s.sees(of)
	if err != nil {
		return schema.SearchResponse{}, err
	}
	defer release()
	tenant := caller.Tenant
	sr := &search{tenant: tenant, caller: caller, scope: scope, req: req, index: index, usage: s.usage.get(tenant).value, held: s.cfg.HoldBack.of(tenant), turn: turn}
	if sr.model, err = s.ranksBy(ctx, index, caller, req.Weights); err != nil {
		return schema.SearchResponse{}, err
	}
	if !sr.stated() {
		sr.model = unpriced(sr.model)
	}
	if s.deps.Stale() {
		sr.parts.without(degradedWeights)
	}
	var q rewritten
	sr.turn.away(s.deps.Rewriter != nil, func() { q = s.rewrite(ctx, sr) })
	if of == nil {
		if err := s.enter(ctx, caller, sr); err != nil {
			return schema.SearchResponse{}, err
		}
		defer sr.turn.leave()
	}
	found, err := s.retrieve(ctx, sr, q)
	if err != nil {
		return schema.SearchResponse{}, err
	}
	ctx, st := s.stage(ctx, "answer")
	defer st.end(nil)
	found, answer := s.collapse(ctx, sr, q, found, s.order(ctx, sr, q, found))
	answer.scale = found.Scale
	answer.hits = behind(answer.hits, found, sr.model)
	results, shown, entities := s.results(ctx, sr, q, answer)
	s.demote(results, shown, entities)
	form := s.detail(ctx, &req.Wanted, details(results, entities))
	id := ""
	if sr.teaches() {
		id = searchID(tenant, s.deps.Nonce(), shown)
		s.record(ctx, sr, id, found.Vector, shown)
		if s.connections != nil {
			s.connections.Shown(caller, req.Session, id, toolsOf(shown))
		}
	}
	quarantined := len(results) == 0 && sr.quarantined(ctx)
	resp := schema.SearchResponse{
		SearchID:    id,
		Weights:     sr.model.Version,
		Rewrite:     q.source,
		Degraded:    sr.parts.names(),
		Reranked:    schema.Rerank(answer.algorithm),
		KCapped:     capped,
		Chosen:      found.Chosen,
		NothingFits: sr.nothingFits(answer.hits, found.Scale),
		Quarantined: quarantined,
		Results:     results,
		InForm:      form,
	}
	if req.Explain {
		resp.Searched = q.searched()
	}
	return resp, nil
}

// scope returns what a caller may find. The error wraps ErrUnavailable.
func (s *Service) scope(ctx context.Context, caller identity.Caller) (*policy.Scope, error) {
	scope, err := s.deps.Policy.Scope(caller, policy.Find)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if scope != nil {
		audit.Annotate(ctx, audit.Details{Policy: scope.Version})
	}
	return scope, nil
}

// enter waits until it is the search's turn.
func (s *Service) enter(ctx context.Context, caller identity.Caller, sr *search) (err error) {
	ctx, st := s.stage(ctx, "wait")
	sr.turn, err = s.queue.enter(ctx, caller)
	st.end(err)
	return err
}

// ordered is what a search found, in the order of the answer.
type ordered struct {
	hits   []ranking.Hit
	scale  ranking.Scale                // of similarities
	clicks map[schema.Ref]schema.Clicks // of what they say something of, or move; only where it is to be explained
	before map[schema.Ref]int           // place of each before clicks moved some; nil where they moved none
	reranked
}

// order ranks the candidates. Only a search of one step is reranked, and reordered by
// what users did with the results of the same query.
func (s *Service) order(ctx context.Context, sr *search, q rewritten, found Retrieval) (out ordered) {
	_, span := tracing.Begin(ctx, "fuse")
	rankings := rankSteps(found.Steps, sr.model)
	span.End()
	if len(rankings) == 1 {
		out.reranked = s.rerank(ctx, sr, q, found.Rank, found.Steps[0], rankings[0])
		uses := found.Steps[0].Signals.Usage
		rankings[0] = ranking.ByClicks(out.ranked, sr.model, uses)
		if reordered(out.ranked, rankings[0]) {
			out.before = placeByRef(out.ranked)
		}
		if sr.req.Explain && uses != nil {
			out.clicks = movedByClicks(placeByRef(out.ranked), rankings[0], uses)
		}
	}
	first := ""
	if found.Rank == schema.RankProviders && found.Chosen != nil {
		first = found.Chosen.Provider
	}
	out.hits = ranking.Hits(rankings, found.Rank, first)
	return out
}

func rankSteps(steps []Step, m *fusion.Model) [][]ranking.Ranked {
	rankings := make([][]ranking.Ranked, len(steps))
	for i, step := range steps {
		rankings[i] = ranking.Rank(step.Candidates, m, step.Signals)
	}
	return rankings
}
