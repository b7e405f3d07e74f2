package query

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sourcegraph/conc/pool"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Retrieval is what the index has for a search.
type Retrieval struct {
	Rank   schema.Rank    // tools or providers
	Chosen *schema.Chosen // why, where the request left it open
	Vector []float32      // of the query, empty where it could not be embedded
	Steps  []Step         // one where the request has no steps
	Scale  ranking.Scale  // of similarities
}

// Step is a part of a search that is searched by itself.
type Step struct {
	Candidates []index.Candidate // with exact features on every field
	Signals    ranking.Signals

	held   []index.Candidate // come behind all others
	lookup index.Lookup      // by which they were found
}

// Retrieve returns what Search would rank for a request by the model m, without usage,
// with n candidates for each step. It is for evaluation and training: a query is not
// rewritten, and it is an error if any part does not answer.
func (s *Service) Retrieve(ctx context.Context, tenant string, req schema.SearchRequest, m *fusion.Model, n int) (Retrieval, error) {
	if _, err := req.Normalize(); err != nil {
		return Retrieval{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	index, release := s.snapshot()
	defer release()
	sr := &search{tenant: tenant, req: req, index: index, model: m, held: s.cfg.HoldBack.of(tenant), depth: n}
	found, err := s.retrieve(ctx, sr, parse(req))
	if without := sr.parts.names(); err == nil && len(without) > 0 {
		err = fmt.Errorf("query %q: without %v", schema.Quote(req.Query), without)
	}
	return found, err
}

// retrieve embeds all texts of a query in one call, chooses what to rank where the
// request leaves it open, and returns the candidates of each step.
func (s *Service) retrieve(ctx context.Context, sr *search, q rewritten) (Retrieval, error) {
	steps, needs := q.steps(sr.req.Steps), []rewritten(nil)
	if sr.req.Rank == schema.RankAuto {
		needs = q.apart(&sr.req)
	}
	vectors := s.embed(ctx, sr, textsOf(q.text, slices.Concat(steps, needs)))
	out := Retrieval{Rank: sr.req.Rank, Vector: vectors[q.text]}
	var also []string
	if sr.req.Rank == schema.RankAuto {
		// As deep as for providers, though only tools can answer a need.
		of := wanted{rank: schema.RankTools, n: depth(schema.RankProviders, sr.req.K)}
		found, err := s.candidates(ctx, sr, needs, vectors, of)
		if err != nil {
			return Retrieval{}, err
		}
		out.Chosen, also = choose(rankSteps(found, sr.model), needs)
		out.Rank = out.Chosen.Rank
		if !sr.req.Explain {
			out.Chosen.Needs = nil
		}
	}
	of := wanted{rank: out.Rank, n: sr.depth, also: also}
	if of.n == 0 {
		of.n = depth(out.Rank, sr.req.K)
	}
	var err error
	out.Steps, err = s.candidates(ctx, sr, steps, vectors, of)
	out.Scale = sr.scale()
	return out, err
}

// wanted says which candidates a lookup is to bring.
type wanted struct {
	rank schema.Rank // tools or providers
	n    int
	also []string // tools that take part wherever they stand
}

// minPool is how many candidates are asked for beside k.
const minPool = 100

// depth returns how many candidates to ask for: more than k, because usage may lift
// what the texts put lower, and many more for providers, because one provider can own
// all the best tools (N >> K in arXiv 2511.01854).
func depth(rank schema.Rank, k int) int {
	if rank == schema.RankProviders {
		return 10*k + minPool
	}
	return 2*k + minPool
}

// errNoEmbedder says that the settings name another model than the index has.
var errNoEmbedder = errors.New("no embedder of the index's model")

// embed returns the vectors of texts, got in one call; none at all if the call fails.
func (s *Service) embed(ctx context.Context, sr *search, texts []string) map[string][]float32 {
	ctx, st := s.stage(ctx, "embed")
	st.note(tracing.Model.String(sr.index.Model), tracing.Texts.Int(len(texts)))
	ctx, cancel := context.WithTimeout(ctx, s.cfg.EmbedTimeout)
	defer cancel()
	var vectors [][]float32
	var err error
	sr.turn.away(sr.index.EmbedsElsewhere, func() { vectors, err = sr.index.embed(ctx, texts) })
	st.end(err)
	sr.index.embedding.Note(ctx, s.deps.Logger, err, "query: queries cannot be embedded, searches go by words alone", "query: queries are embedded again")
	if err != nil {
		sr.parts.without(degradedVectors)
		return nil
	}
	sr.index.measure(ctx)
	byText := make(map[string][]float32, len(texts))
	for i, t := range texts {
		byText[t] = vectors[i]
	}
	return byText
}

// embed returns a vector for each text.
func (now *snapshot) embed(ctx context.Context, texts []string) ([][]float32, error) {
	if now.Embedder == nil {
		return nil, errNoEmbedder
	}
	vectors, err := now.Embedder.Embed(ctx, texts)
	if err == nil && len(vectors) != len(texts) {
		err = fmt.Errorf("%d vectors for %d texts", len(vectors), len(texts))
	}
	return vectors, err
}

// lookupsAtOnce bounds the lookups of one search that the index works on together.
const lookupsAtOnce = 4

// candidates looks up each of several queries.
func (s *Service) candidates(ctx context.Context, sr *search, queries []rewritten, vectors map[string][]float32, of wanted) ([]Step, error) {
	out := make([]Step, len(queries))
	lookups := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(lookupsAtOnce)
	for i, q := range queries {
		lookups.Go(func(ctx context.Context) (err error) {
			ctx, st := s.stage(ctx, "index")
			out[i], err = s.lookUp(ctx, sr, q.probe(vectors), of)
			st.note(tracing.Candidates.Int(len(out[i].Candidates)))
			st.end(err)
			return err
		})
	}
	return out, lookups.Wait()
}

// wider is how many times more candidates are asked for where those found belong to
// fewer providers than are wanted: one provider may own all the best tools.
const wider = 8

// lookUp asks the index for the candidates of one query.
func (s *Service) lookUp(ctx context.Context, sr *search, probe index.Probe, of wanted) (Step, error) {
	uses := sr.usage.For(sr.index.Model, probe.Query.Vector)
	probe.Tau = sr.model.Tau
	kinds := sr.req.Filters.Kinds
	if len(kinds) == 0 {
		kinds = []schema.Kind{schema.KindTool}
		if of.rank == schema.RankProviders { // by their own documents, too
			kinds = []schema.Kind{schema.KindTool, schema.KindProvider}
		}
	}
	l := index.Lookup{
		Tenant:  sr.tenant,
		Scope:   sr.scope,
		Filters: sr.req.Filters,
		Exclude: sr.req.Exclude,
		Behind:  sr.held,
		Kinds:   kinds,
		Probe:   probe,
		Model:   *sr.model,
		N:       of.n,
		Also:    slices.Concat(of.also, uses.Tools(&sr.model.Features)),
		Rerank:  of.rank == schema.RankTools && slices.Contains([]schema.Rerank{schema.RerankAuto, schema.RerankMulti}, s.reranking(sr)),
	}
	found, err := s.find(ctx, sr, l)
	if err == nil && of.rank == schema.RankProviders && len(found) >= l.N && owners(found) < sr.req.K {
		l.N *= wider
		found, err = s.find(ctx, sr, l)
	}
	if err == nil && of.rank == schema.RankProviders {
		found, err = s.addProviders(ctx, sr, l, found)
	}
	step := Step{Signals: ranking.Signals{Usage: uses, Providers: of.rank == schema.RankProviders}, lookup: l}
	step.Candidates, step.held = apart(found, uses)
	if err == nil && sr.model.Features[fusion.RelatedSupply] != 0 {
		err = s.addSuppliers(ctx, sr, l, &step)
	}
	if err != nil {
		return Step{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return step, nil
}

// find asks the index, reads the names of what it found, and notes a part that it went
// without.
func (s *Service) find(ctx context.Context, sr *search, l index.Lookup) ([]index.Candidate, error) {
	found, err := sr.index.Index.Candidates(ctx, l)
	if partial := (*index.Partial)(nil); errors.As(err, &partial) {
		sr.parts.without(partial.Without)
		err = nil
	}
	s.readNames(l.Probe.Query.Words, found)
	return found, err
}

// readNames sets what the names of tools say to a query.
func (s *Service) readNames(query string, found []index.Candidate) {
	if s.deps.Names == nil {
		return
	}
	said, asked, naming := s.deps.Names.For(query), ranking.VerbsOf(query), ranking.Naming(query)
	for i := range found {
		c := &found[i]
		c.Naming = naming(s.providerWords(ranking.Owner(c)))
		if c.Kind == schema.KindTool {
			c.Named = said(c.Label)
			if asked.Other(c.Label) {
				c.Features[fusion.QueryVerb] = 1
			}
		}
	}
}

// providerWords returns the words of a provider's id. They are kept: candidates share
// providers, and so do searches.
func (s *Service) providerWords(id string) []string {
	words, ok := s.providers.Get(id)
	if !ok {
		words = ranking.ProviderWords(id)
		s.providers.Add(id, words)
	}
	return words
}

// owners counts the providers that the candidates belong to, or are.
func owners(found []index.Candidate) int {
	distinct := map[string]bool{}
	for i := range found {
		if owner := ranking.Owner(&found[i]); owner != "" {
			distinct[owner] = true
		}
	}
	return len(distinct)
}

// addProviders adds the documents of the providers whose tools were found. What is held
// back speaks for nobody.
func (s *Service) addProviders(ctx context.Context, sr *search, l index.Lookup, found []index.Candidate) ([]index.Candidate, error) {
	there, missing := map[string]bool{}, map[string]bool{}
	for i := range found {
		if c := &found[i]; c.Kind == schema.KindProvider {
			there[c.ID] = true
		} else if c.Provider != "" {
			missing[c.Provider] = true
		}
	}
	maps.DeleteFunc(missing, func(id string, _ bool) bool { return there[id] })
	l.Kinds = slices.DeleteFunc(slices.Clone(l.Kinds), func(k schema.Kind) bool { return k != schema.KindProvider })
	if len(missing) == 0 || len(l.Kinds) == 0 {
		return found, nil
	}
	l.N, l.Also, l.Exclude = 0, slices.Sorted(maps.Keys(missing)), slices.Concat(l.Exclude, l.Behind)
	more, err := s.find(ctx, sr, l)
	return append(found, more...), err
}

// leastSupply is the share of the front runners' parameters from which on a supplier
// takes part whatever its texts say: that of one of two suppliers.
const leastSupply = 0.25

// addSuppliers notes which tools answer with the parameters of the front runners, and
// adds those that are not among the candidates: a tool that gives a token shares no
// word with a request that takes one. Suppliers that the caller may not find are no
// candidates, and so lift nothing.
func (s *Service) addSuppliers(ctx context.Context, sr *search, l index.Lookup, step *Step) error {
	front := ranking.Front(step.Candidates, sr.model, step.Signals.Usage, fusion.Supplied)
	if len(front) == 0 {
		return nil
	}
	ctx, span := tracing.Begin(ctx, "suppliers")
	defer span.End()
	lists, err := sr.index.Index.Suppliers(ctx, sr.tenant, front)
	if err != nil {
		return err
	}
	suppliers, shares := map[string][]index.Supplier{}, map[string]float64{}
	for i, id := range front {
		suppliers[id] = lists[i]
		for _, supplier := range lists[i] {
			shares[supplier.ID] += supplier.Share
		}
	}
	step.Signals.Suppliers = func(tool string) []index.Supplier { return suppliers[tool] }
	for i := range step.Candidates {
		if c := &step.Candidates[i]; c.Kind == schema.KindTool {
			delete(shares, c.ID)
		}
	}
	maps.DeleteFunc(shares, func(_ string, share float64) bool { return share < leastSupply })
	if len(shares) == 0 {
		return nil
	}
	l.N, l.Also, l.Exclude = 0, slices.Sorted(maps.Keys(shares)), slices.Concat(l.Exclude, l.Behind)
	more, err := s.find(ctx, sr, l)
	step.Candidates = append(step.Candidates, more...)
	return err
}
