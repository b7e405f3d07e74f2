package query

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The parts that an answer may have gone without.
const (
	degradedVectors     = "vectors"     // no embedding: ranked by words alone
	degradedCatalogue   = "catalogue"   // some results lack what the catalogue says of them
	degradedWeights     = "weights"     // the store of weights and usage is away: the last known serve
	degradedImpressions = "impressions" // the search is not recorded, feedback on it is lost
	degradedRerank      = "rerank"      // the results stand in the order of their scores
)

// ErrUnavailable is wrapped by every error that says that nothing could be
// searched at the moment.
var ErrUnavailable = errors.New("search is unavailable")

// ErrUnreported is wrapped by the error for feedback that the bus does not take now.
var ErrUnreported = errors.New("feedback can not be taken now")

// search is one search on its way.
type search struct {
	id       string
	tenant   string
	req      schema.SearchRequest
	capped   bool
	view     *serving // what is searched, from beginning to end
	plan     plan
	model    *fusion.Model
	usage    *usage
	pool     int      // candidates to ask the index for
	leading  []string // tools for which an agent was chosen
	degraded []string

	vector    []float32                   // of the query
	uses      uses                        // usage, as the query sees it
	suppliers map[string][]index.Supplier // of the front runners
	shadow    *shadowed
	reordered reordered
	vectors   map[string][]float32 // of all texts, where they were got before
	chosen    *schema.Chosen       // where the request left it open
}

// Search answers a request of a tenant. Its error is a *schema.Invalid for a
// request that is not acceptable, wraps ErrUnavailable where nothing could be
// searched, and is the context's once that has ended.
func (s *Service) Search(ctx context.Context, tenant string, req schema.SearchRequest) (schema.SearchResponse, error) {
	start := time.Now()
	ctx, span := tracing.Begin(ctx, "search")
	noteRequest(span, tenant, &req)
	resp, err := s.search(ctx, tenant, req)
	noteAnswer(span, &resp)
	tracing.End(span, err)
	took := time.Since(start)
	s.metrics.searched(req.Rank, resp, err, took)
	resp.TookMS = float64(took.Microseconds()) / 1000
	return resp, err
}

func (s *Service) search(ctx context.Context, tenant string, req schema.SearchRequest) (schema.SearchResponse, error) {
	capped, err := req.Normalize()
	if err != nil {
		return schema.SearchResponse{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	view, done := s.use()
	defer done()
	sr := &search{
		id: s.deps.NewID(), tenant: tenant, req: req, capped: capped, view: view,
		model: s.modelOf(view, tenant), usage: s.usage.of(&usage{}, tenant), pool: s.pool(req),
	}
	if s.deps.Stale != nil && s.deps.Stale() {
		sr.degrade(degradedWeights)
	}
	if req.Rank == schema.RankAuto {
		if err := s.decide(ctx, sr); err != nil {
			return schema.SearchResponse{}, err
		}
	}
	if sr.stepwise() {
		return s.stepByStep(ctx, sr)
	}
	candidates, err := s.find(ctx, sr)
	if err != nil {
		return schema.SearchResponse{}, err
	}
	ctx, st := s.stage(ctx, "answer")
	defer st.end(nil)
	ranked := fuse(ctx, sr, candidates)
	sr.shadow = s.beside(ctx, sr, ranked)
	ranked = ranking.Experienced(s.reorder(ctx, sr, ranked), sr.model, sr.uses)
	return s.answer(ctx, sr, ranked), nil
}

// fuse makes one ranking of all that is known of the candidates.
func fuse(ctx context.Context, sr *search, candidates []index.Candidate) []ranking.Ranked {
	_, span := tracing.Begin(ctx, "fuse")
	defer span.End()
	return ranking.Rank(candidates, sr.model, sr.known())
}

// embed returns the vectors of texts, got in one call; none at all if the call
// fails.
func (s *Service) embed(ctx context.Context, sr *search, texts []string) map[string][]float32 {
	if sr.vectors != nil {
		return sr.vectors
	}
	ctx, st := s.stage(ctx, "embed")
	st.note(tracing.Model.String(sr.view.Model), tracing.Texts.Int(len(texts)))
	vectors, err := s.callEmbedder(ctx, sr.view, texts)
	st.end(err)
	sr.view.blind.Note(ctx, s.deps.Logger, err, "query: queries can not be embedded, searches go by words alone", "query: queries are embedded again")
	if err != nil {
		sr.degrade(degradedVectors)
		return nil
	}
	byText := make(map[string][]float32, len(texts))
	for i, t := range texts {
		byText[t] = vectors[i]
	}
	return byText
}

func (s *Service) callEmbedder(ctx context.Context, view *serving, texts []string) ([][]float32, error) {
	if view.Embedder == nil {
		return nil, errors.New("no embedder")
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.EmbedTimeout)
	defer cancel()
	vectors, err := view.Embedder.Embed(ctx, texts)
	if err == nil && len(vectors) != len(texts) {
		err = fmt.Errorf("%d vectors for %d texts", len(vectors), len(texts))
	}
	return vectors, err
}

func (s *Service) candidates(ctx context.Context, sr *search, probe index.Probe) ([]index.Candidate, error) {
	ctx, st := s.stage(ctx, "index")
	found, err := s.lookFor(ctx, sr, probe)
	st.note(tracing.Candidates.Int(len(found)))
	st.end(err)
	return found, err
}

func (s *Service) lookFor(ctx context.Context, sr *search, probe index.Probe) ([]index.Candidate, error) {
	sr.vector = probe.Query.Vector
	sr.uses = sr.usage.by(sr.view.Model, sr.vector)
	lookup := index.Lookup{
		Tenant:  sr.tenant,
		Filters: sr.req.Filters,
		Kinds:   kinds(sr.req),
		Probe:   probe,
		Model:   *sr.model,
		N:       sr.pool,
		Also:    sr.also(),
	}
	found, err := sr.view.Index.Candidates(ctx, lookup)
	if partial := (*index.Partial)(nil); errors.As(err, &partial) {
		sr.degrade(partial.Without)
		err = nil
	}
	if err == nil && sr.model.Features[fusion.RelatedSupply] != 0 {
		found, err = s.withSuppliers(ctx, sr, lookup, found)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return found, nil
}

// wider is how many times more entities are asked for where those found belong
// to fewer agents than are wanted: all the best tools may be of one.
const wider = 8

// enough returns candidates, for a ranking of agents of as many owners as are
// wanted, unless even a wider look does not bring them.
func (s *Service) enough(ctx context.Context, sr *search, probe index.Probe) ([]index.Candidate, error) {
	found, err := s.candidates(ctx, sr, probe)
	if err != nil || sr.req.Rank != schema.RankAgents || len(found) < sr.pool || owners(found) >= sr.req.K {
		return found, err
	}
	wide := *sr
	wide.pool *= wider
	found, err = s.candidates(ctx, &wide, probe)
	sr.suppliers, sr.degraded = wide.suppliers, wide.degraded
	return found, err
}

// owners counts the agents that the candidates belong to, or are.
func owners(found []index.Candidate) int {
	distinct := map[string]bool{}
	for i := range found {
		if owner := ranking.Owner(&found[i]); owner != "" {
			distinct[owner] = true
		}
	}
	return len(distinct)
}

// leastSupply is the share of what the front runners take from which on a
// supplier takes part whatever its texts say: that of one of two.
const leastSupply = 0.25

// withSuppliers notes who supplies what the front runners take, and adds those
// that are not among the candidates: a tool that gives a token shares no word
// with a request that takes one.
func (s *Service) withSuppliers(ctx context.Context, sr *search, l index.Lookup, found []index.Candidate) ([]index.Candidate, error) {
	front := ranking.Front(found, sr.model, sr.uses, fusion.Supplied)
	if len(front) == 0 {
		return found, nil
	}
	ctx, span := tracing.Begin(ctx, "suppliers")
	defer span.End()
	lists, err := sr.view.Index.Suppliers(ctx, sr.tenant, front)
	if err != nil {
		return nil, err
	}
	sr.suppliers = make(map[string][]index.Supplier, len(front))
	for i, id := range front {
		sr.suppliers[id] = lists[i]
	}
	l.N, l.Also = 0, missing(lists, found)
	if len(l.Also) == 0 {
		return found, nil
	}
	more, err := sr.view.Index.Candidates(ctx, l)
	return append(found, more...), err
}

// missing returns the ids of the suppliers that are worth to be looked at and
// were not found.
func missing(lists [][]index.Supplier, found []index.Candidate) []string {
	shares := map[string]float64{}
	for _, list := range lists {
		for _, supplier := range list {
			shares[supplier.ID] += supplier.Share
		}
	}
	for i := range found {
		if found[i].Kind == schema.KindTool {
			delete(shares, found[i].ID)
		}
	}
	maps.DeleteFunc(shares, func(_ string, share float64) bool { return share < leastSupply })
	return slices.Sorted(maps.Keys(shares))
}

// known is what is known beside the texts of the candidates.
func (sr *search) known() ranking.Known {
	return ranking.Known{Uses: sr.uses, Suppliers: func(tool string) []index.Supplier { return sr.suppliers[tool] }}
}

// kinds returns what takes part: what the filter says, else tools, and for a
// ranking of agents also the agents themselves.
func kinds(req schema.SearchRequest) []schema.Kind {
	switch {
	case len(req.Filters.Kinds) > 0:
		return req.Filters.Kinds
	case req.Rank == schema.RankAgents:
		return []schema.Kind{schema.KindTool, schema.KindAgent}
	}
	return []schema.Kind{schema.KindTool}
}

// pool returns how many candidates to ask for: more than k, because usage may
// lift what the texts put lower, and many more for agents, because one agent
// can own all the best tools (N >> K in arXiv 2511.01854).
func (s *Service) pool(req schema.SearchRequest) int {
	if req.Rank == schema.RankAgents {
		return 10*req.K + s.cfg.MinPool
	}
	return 2*req.K + s.cfg.MinPool
}

// also returns the tools that take part wherever they stand: those for which an agent
// was chosen, and those that usage may lift from nowhere, where the weights give it a say.
func (sr *search) also() []string {
	w := &sr.model.Features
	ids := slices.Clone(sr.leading)
	if w[fusion.UsageSimilar] != 0 {
		ids = append(ids, sr.uses.alike()...)
	}
	if w[fusion.UsagePrior] == 0 && w[fusion.UsageCoUse] == 0 {
		return ids
	}
	for _, id := range sr.uses.top {
		if sr.uses.similar[id] == 0 || !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (sr *search) degrade(part string) {
	if !slices.Contains(sr.degraded, part) {
		sr.degraded = append(sr.degraded, part)
	}
}

// answer answers with the best of ranked.
func (s *Service) answer(ctx context.Context, sr *search, ranked []ranking.Ranked) schema.SearchResponse {
	return s.show(ctx, sr, picksOf(ranked, sr.req.Rank))
}

// show looks the k best picks up and records them.
func (s *Service) show(ctx context.Context, sr *search, picks []pick) schema.SearchResponse {
	results, shown := s.results(ctx, sr, s.explore(sr, lead(picks, sr.chosen)))
	s.record(ctx, sr, shown)
	slices.Sort(sr.degraded)
	resp := schema.SearchResponse{
		SearchID: sr.id,
		Weights:  sr.model.Version,
		Rewrite:  sr.plan.rewrite,
		Degraded: append([]string{}, sr.degraded...),
		Reranked: schema.Rerank(sr.reordered.algorithm),
		KCapped:  sr.capped,
		Chosen:   sr.chosen,
		Results:  results,
	}
	if sr.req.Explain {
		resp.Searched = sr.plan.searched()
	}
	return resp
}

// record queues the impression. A search that showed nothing can not be
// learned from.
func (s *Service) record(ctx context.Context, sr *search, shown []schema.Shown) {
	if len(shown) == 0 {
		return
	}
	if !s.impressions.add(ctx, schema.Impression{
		SearchID: sr.id,
		Tenant:   sr.tenant,
		Query:    sr.req.Query,
		Time:     s.deps.Now().UTC(),
		Weights:  sr.model.Version,
		Model:    sr.view.Model,
		Vector:   schema.NewDirection(sr.vector),
		Signals:  sr.reordered.signals,
		Shown:    shown,
		Shadow:   sr.shadow.of(sr.tenant, shown),
	}) {
		sr.degrade(degradedImpressions)
	}
}
