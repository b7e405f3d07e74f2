package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sourcegraph/conc/pool"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/catalogue"
)

// Retrieval is the answer of the index to a search.
type Retrieval struct {
	Rank   schema.Rank    // tools or providers
	Chosen *schema.Chosen // why, if the request left it open
	Vector []float32      // of the query, empty if it could not be embedded
	Steps  []Step         // one if the request has no steps
	Scale  ranking.Scale  // of similarities
}

// Step is a part of a search that is searched by itself.
type Step struct {
	Candidates []index.Candidate // with exact features on every field
	Signals    ranking.Signals

	heldBack []index.Candidate // rank behind all others
	lookup   index.Lookup      // that found them
}

// retrieve embeds all texts of a query in one call, chooses what to rank if the request leaves
// it open, and returns the candidates of each step: n of them, or enough for the request if n is 0.
func (rq *request) retrieve(ctx context.Context, q query, n int) (Retrieval, error) {
	steps, needs := q.perStep(q.steps), []query(nil)
	if rq.req.Rank == schema.RankAuto {
		needs = q.perNeed()
	}
	r := retriever{request: rq, rank: rq.req.Rank, vectors: rq.embed(ctx, q.text, slices.Concat(steps, needs))}
	out := Retrieval{Vector: r.vectors[q.text]}
	if r.rank == schema.RankAuto {
		// As deep as for providers, though only tools can answer a need.
		r.rank, r.n = schema.RankTools, depth(schema.RankProviders, rq.req.K)
		found, err := r.lookUp(ctx, needs)
		if err != nil {
			return Retrieval{}, err
		}
		rankings := make([][]ranking.Ranked, len(found))
		for i, step := range found {
			rankings[i] = ranking.Rank(step.Candidates, rq.model, step.Signals)
		}
		out.Chosen, r.also = choose(rankings, needs)
		r.rank = out.Chosen.Rank
		if !rq.req.Explain {
			out.Chosen.Needs = nil
		}
	}
	out.Rank, r.n = r.rank, cmp.Or(n, depth(r.rank, rq.req.K))
	var err error
	out.Steps, err = r.lookUp(ctx, steps)
	wordsAlone := slices.ContainsFunc(rq.degraded.names(), func(part string) bool { return part == degradedVectors || part == degradedIndex })
	if scale := rq.index.scale.Load(); scale != nil && !wordsAlone { // without it, no similarities can be compared
		out.Scale = *scale
	}
	return out, err
}

// perStep returns a query for each of the given steps, with all the arguments. Without steps, it
// returns the query itself.
func (q query) perStep(given []string) []query {
	if len(given) == 0 {
		return []query{q}
	}
	steps := make([]query, len(given))
	for i, step := range given {
		steps[i] = q
		steps[i].text = strings.TrimSpace(step)
		steps[i].needs = ownNeeds(steps[i].text)
	}
	return steps
}

// perNeed returns a query for each need: a given step, a need that the caller or the
// language model named, else a sentence of the query. A clause by itself often says too
// little; only a text of more sentences than may be needs is taken by its clauses.
func (q query) perNeed() []query {
	if len(q.steps) > 0 {
		return q.perStep(q.steps)
	}
	if !q.named {
		sentences := text.Sentences(q.text)
		if len(sentences) > schema.MaxNeeds {
			sentences = text.Clauses(q.text)
		}
		return q.perStep(sentences)
	}
	out := make([]query, len(q.needs))
	for i, n := range q.needs {
		out[i] = q
		out[i].text, out[i].needs = whole(n), q.needs[i:i+1]
	}
	return out
}

// embed returns the vectors of a text and of every text of some queries, from one call; none at
// all if the call fails.
func (rq *request) embed(ctx context.Context, first string, queries []query) map[string][]float32 {
	texts := []string{first}
	for _, q := range queries {
		texts = append(texts, q.text)
		for _, n := range q.needs {
			texts = append(texts, whole(n), n.ToolDescription, n.ExpectedResponse, n.UserIntent)
		}
		for _, a := range q.arguments {
			texts = append(texts, a.text)
		}
	}
	byText := map[string][]float32{}
	texts = slices.DeleteFunc(texts, func(s string) bool { // each once, in a fixed order
		_, seen := byText[s]
		byText[s] = nil
		return seen || s == ""
	})

	ctx, st := rq.stage(ctx, "embed")
	st.SetAttributes(telemetry.Model.String(rq.index.Model), telemetry.Texts.Int(len(texts)))
	ctx, cancel := context.WithTimeout(ctx, rq.cfg.EmbedTimeout)
	defer cancel()
	var vectors [][]float32
	var err error
	rq.withoutSlot(rq.index.EmbedsElsewhere, func() { vectors, err = rq.index.embed(ctx, texts) })
	st.end(err)
	rq.index.embedding.LogChange(ctx, rq.deps.Logger, err, "query: queries cannot be embedded, searches go by words alone", "query: queries are embedded again")
	if err != nil {
		rq.degraded.add(degradedVectors)
		return nil
	}
	rq.index.measureScale(ctx)
	for i, t := range texts {
		byText[t] = vectors[i]
	}
	return byText
}

// minPool is how many candidates are asked for in addition to k.
const minPool = 100

// depth returns how many candidates to ask for: more than k, because usage may lift
// tools that the texts put lower, and many more for providers, because one provider can own
// all the best tools (N >> K in arXiv 2511.01854).
func depth(rank schema.Rank, k int) int {
	if rank == schema.RankProviders {
		return 10*k + minPool
	}
	return 2*k + minPool
}

// retriever asks the index of a search for candidates.
type retriever struct {
	*request
	vectors map[string][]float32 // of the texts of its queries
	rank    schema.Rank          // tools or providers
	n       int
	also    []string // tools that take part wherever they rank
}

const (
	// lookupsAtOnce bounds the lookups of one search that the index works on together.
	lookupsAtOnce = 4
	// wider is how many times more candidates are asked for if the first lookup finds too few
	// providers or too many copies: one provider may own all the best tools.
	wider = 8
)

// lookUp asks the index for the candidates of each of several queries.
func (r *retriever) lookUp(ctx context.Context, queries []query) ([]Step, error) {
	out := make([]Step, len(queries))
	lookups := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(lookupsAtOnce)
	for i, q := range queries {
		lookups.Go(func(ctx context.Context) (err error) {
			ctx, st := r.stage(ctx, "index")
			if out[i], err = r.candidates(ctx, q.probe(r.vectors)); err != nil {
				err = fmt.Errorf("%w: %w", catalogue.ErrUnavailable, err)
			}
			st.SetAttributes(telemetry.Candidates.Int(len(out[i].Candidates)))
			st.end(err)
			return err
		})
	}
	return out, lookups.Wait()
}

// probe joins the query with the vectors of its texts; a text that is not in vectors
// goes without one.
func (q query) probe(vectors map[string][]float32) index.Probe {
	text := func(s string) index.Text { return index.Text{Words: s, Vector: vectors[s]} }
	probe := index.Probe{Query: text(q.text)}
	for _, n := range q.needs {
		probe.Needs = append(probe.Needs, index.Need{
			Whole:       text(whole(n)),
			Description: text(n.ToolDescription),
			Response:    text(n.ExpectedResponse),
			Examples:    text(n.UserIntent),
		})
	}
	for _, a := range q.arguments {
		probe.Arguments = append(probe.Arguments, index.Argument{Name: a.name, Text: text(a.text)})
	}
	return probe
}

// candidates returns the candidates of one query.
func (r *retriever) candidates(ctx context.Context, probe index.Probe) (Step, error) {
	uses := r.usage.For(r.index.Model, probe.Query.Vector)
	probe.Tau = r.model.Tau
	providers := r.rank == schema.RankProviders
	kinds := r.req.Filters.Kinds
	if len(kinds) == 0 {
		kinds = []schema.Kind{schema.KindTool}
		if providers { // by their own documents, too
			kinds = append(kinds, schema.KindProvider)
		}
	}
	behind, own := r.cfg.HoldBack[r.caller.Tenant]
	if !own {
		behind = r.cfg.HoldBack[""]
	}
	l := index.Lookup{
		Tenant:  r.caller.Tenant,
		Scope:   r.scope,
		Filters: r.req.Filters,
		Calls:   r.callable,
		Exclude: r.req.Exclude,
		Behind:  behind,
		Kinds:   kinds,
		Probe:   probe,
		Model:   *r.model,
		N:       r.n,
		Also:    slices.Concat(r.also, uses.Tools(&r.model.Features)),
		Rerank:  !providers && (r.req.Rerank == schema.RerankAuto || r.req.Rerank == schema.RerankMulti),
	}
	find := r.find
	if providers {
		find = r.findProviders
	}
	found, err := find(ctx, l)
	step := Step{Signals: ranking.Signals{Usage: uses, Providers: providers}, lookup: l}
	for i := range found {
		if c := &found[i]; c.HeldBack != "" && c.Kind == schema.KindTool && uses.Similar(c.ID) > 0 {
			c.HeldBack = "" // agents know the tool: they used it for queries like this one
		} else if c.HeldBack != "" {
			step.heldBack = append(step.heldBack, *c)
		}
	}
	step.Candidates = slices.DeleteFunc(found, func(c index.Candidate) bool { return c.HeldBack != "" })
	if err == nil && r.model.Features[fusion.RelatedSupply] != 0 {
		err = r.addSuppliers(ctx, l, &step)
	}
	if err != nil {
		return Step{}, err
	}
	return step, nil
}

// findProviders asks the index for tools and providers, and for more of them if too few providers
// own the first. It adds the documents of providers whose tools were found, unless a document is
// held back.
func (r *retriever) findProviders(ctx context.Context, l index.Lookup) ([]index.Candidate, error) {
	found, err := r.find(ctx, l)
	if err != nil {
		return nil, err
	}
	owners := map[string]bool{}
	for i := range found {
		owners[ranking.Owner(&found[i])] = true
	}
	delete(owners, "")
	if len(found) >= l.N && len(owners) < r.req.K {
		l.N *= wider
		if found, err = r.find(ctx, l); err != nil {
			return nil, err
		}
	}
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
	more, err := r.find(ctx, l)
	return append(found, more...), err
}

// Names reads the names of tools.
type Names interface {
	// For returns a function for one goroutine: from the name of a tool to the share of it that
	// the query says, 0 to 1.
	For(query string) func(name string) float64
	// Learned reports whether the meaning of a word is known.
	Learned(word string) bool
}

// find asks the index and sets the name features of the candidates. It notes a part that the
// index went without.
func (rq *request) find(ctx context.Context, l index.Lookup) ([]index.Candidate, error) {
	found, err := rq.index.Index.Candidates(ctx, l)
	if partial := (*index.Partial)(nil); errors.As(err, &partial) {
		rq.degraded.add(partial.Without)
		err = nil
	}
	if rq.deps.Names == nil {
		return found, err
	}
	query := l.Probe.Query.Words
	said, asked, naming := rq.deps.Names.For(query), ranking.VerbsOf(query), ranking.Naming(query)
	for i := range found {
		c := &found[i]
		owner := ranking.Owner(c)
		words, ok := rq.providers.Get(owner) // candidates share providers, and so do searches
		if !ok {
			words = ranking.ProviderWords(owner)
			rq.providers.Add(owner, words)
		}
		c.Naming = naming(words)
		if c.Kind == schema.KindTool {
			c.Named = said(c.Label)
			if asked.Other(c.Label) {
				c.Features[fusion.QueryVerb] = 1
			}
		}
	}
	return found, err
}

// leastSupply is the minimum share of the front runners' parameters that admits a supplier
// whatever its texts say: the share of each of two suppliers.
const leastSupply = 0.25

// addSuppliers notes which tools answer with the parameters of the front runners, and adds any
// that are not candidates yet: a tool that issues a token shares no word with a request that
// needs the token. Suppliers that the caller may not find are no
// candidates, and so lift nothing.
func (r *retriever) addSuppliers(ctx context.Context, l index.Lookup, step *Step) error {
	front := ranking.Front(step.Candidates, r.model, step.Signals.Usage, fusion.Supplied)
	if len(front) == 0 {
		return nil
	}
	ctx, span := telemetry.StartSpan(ctx, "suppliers")
	defer span.End()
	lists, err := r.index.Index.Suppliers(ctx, r.caller.Tenant, front)
	if err != nil {
		return err
	}
	step.Signals.Suppliers = ranking.Suppliers{}
	shares := map[string]float64{}
	for i, id := range front {
		step.Signals.Suppliers[id] = lists[i]
		for _, supplier := range lists[i] {
			shares[supplier.ID] += supplier.Share
		}
	}
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
	more, err := r.find(ctx, l)
	step.Candidates = append(step.Candidates, more...)
	return err
}

// enoughCovered is the least coverage of a provider that is ranked as able to do everything the
// query needs: three quarters of the score that the best tools overall reach.
const enoughCovered = 0.75

// choose decides between tools and providers (rank auto) by a ranking for each need. It
// finds the provider whose best tools reach the largest share of the score of the best tools
// overall: a need that nothing matches well has little weight. Of equal providers the one with
// the last id wins. It also returns the tools that made a provider win.
func choose(rankings [][]ranking.Ranked, needs []query) (*schema.Chosen, []string) {
	out := &schema.Chosen{Rank: schema.RankTools, Needs: make([]schema.Covered, len(needs))}
	var all float64
	sums, owns := map[string]float64{}, map[string][]*ranking.Ranked{} // by provider; its best tool for each need, nil for none
	for need, ranked := range rankings {
		best := 0.
		for i := range ranked {
			r := &ranked[i]
			if r.Kind == schema.KindProvider {
				continue // only tools can answer a need
			}
			best = max(best, r.Score)
			owner := ranking.Owner(&r.Candidate)
			if owner == "" || r.Score <= 0 {
				continue
			}
			if owns[owner] == nil {
				owns[owner] = make([]*ranking.Ranked, len(rankings))
			}
			if owns[owner][need] == nil { // best first
				owns[owner][need] = r
				sums[owner] += r.Score
			}
		}
		all += best
		out.Needs[need] = schema.Covered{Need: needs[need].text, Best: best}
	}
	for owner, sum := range sums {
		if out.Provider == "" || fusion.Order(sum, owner, sums[out.Provider], out.Provider) < 0 {
			out.Provider = owner
		}
	}
	if out.Provider == "" {
		out.Why = "nothing that was found has an owner"
		return out, nil
	}
	var tools []string
	for need, r := range owns[out.Provider] {
		if r == nil {
			continue
		}
		out.Needs[need].Tool, out.Needs[need].Score = r.ID, r.Score
		if !slices.Contains(tools, r.ID) {
			tools = append(tools, r.ID)
		}
	}
	out.Coverage = sums[out.Provider] / all
	if out.Coverage < enoughCovered {
		out.Why = fmt.Sprintf("no provider covers %.2f of the %d needs; %s covers most, %.2f", enoughCovered, len(needs), out.Provider, out.Coverage)
		return out, nil
	}
	out.Rank = schema.RankProviders
	out.Why = fmt.Sprintf("tools of %s cover %.2f of the %d needs, at least %.2f", out.Provider, out.Coverage, len(needs), enoughCovered)
	return out, tools
}
