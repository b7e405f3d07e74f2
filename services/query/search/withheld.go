package search

import (
	"cmp"
	"context"
	"slices"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/catalogue"
)

// leftOut is a tool that an answer leaves out.
type leftOut struct {
	schema.Withheld
	quiet bool // its words stay out of answers
}

// withhold says in an answer with results whether any of them fits and, if not, why, and names the
// better tools that the request or the state of the server leave out. What grants hide is not among
// them.
func (rq *request) withhold(ctx context.Context, found Retrieval, whole [][]ranking.Ranked, resp *schema.SearchResponse) {
	best := 0.
	for i := range resp.Results {
		best = max(best, resp.Results[i].Confidence)
	}
	resp.NothingFits = best < ranking.NothingFits
	if whole == nil && resp.NothingFits && (rq.req.MinConfidence > 0 || rq.quarantines(ctx)) {
		whole = rq.whole(ctx, found)
	}
	left := rq.leftOut(ctx, found, whole, resp.Results, best)
	for _, l := range left {
		if l.Confidence < ranking.NothingFits || l.Confidence <= best {
			break
		}
		if resp.WithheldBy == nil {
			resp.WithheldBy = map[schema.Reason]int{}
		}
		resp.WithheldBy[l.Reason]++
		if !l.quiet && len(resp.Withheld) < maxWithheld {
			resp.Withheld = append(resp.Withheld, l.Withheld)
		}
	}
	if resp.NothingFits {
		resp.Reason = schema.ReasonNone
		if len(left) > 0 && (left[0].Confidence >= ranking.NothingFits || len(resp.Results) == 0) { // an empty answer has a reason, likely to fit or not
			resp.Reason = left[0].Reason
		}
	}
}

// narrow reports whether the index leaves tools out that the request does not want.
func (rq *request) narrow() bool {
	f := &rq.req.Filters
	return rq.req.Connected || len(f.Providers)+len(f.Tags)+len(f.IDs)+len(rq.req.Exclude) > 0
}

// quarantines reports whether any tool of the caller's scope is in quarantine. A catalogue that
// cannot be asked knows of none.
func (rq *request) quarantines(ctx context.Context) bool {
	list, _, err := rq.index.Catalogue.List(ctx, rq.caller.Tenant, index.Listing{Kind: schema.KindTool, Scope: rq.scope, Quarantined: true, Limit: 1})
	if err != nil {
		rq.degraded.add(degradedCatalogue)
	}
	return len(list) > 0
}

// Bounds of withheld tools.
const (
	maxWithheld = 3
	judged      = 60 // of the best tools: as many as a confidence takes into account
)

// whole ranks the candidates of each step together with the best tools that the request leaves out or
// that are in quarantine. It returns nil if the index does not answer.
func (rq *request) whole(ctx context.Context, found Retrieval) [][]ranking.Ranked {
	out := make([][]ranking.Ranked, len(found.Steps))
	for i, step := range found.Steps {
		l := step.lookup
		l.Withheld, l.Kinds, l.N, l.Also, l.Rerank = true, []schema.Kind{schema.KindTool}, judged, nil, false
		more, err := rq.find(ctx, l)
		if err != nil {
			return nil
		}
		out[i] = ranking.Rank(slices.Concat(step.Candidates, more), rq.model, step.Signals)
	}
	return out
}

// stand gives hits the standing that they have in the whole rankings, so that a filter does not make
// a tool likelier.
func stand(hits []ranking.Hit, whole [][]ranking.Ranked) {
	type place struct {
		step int
		schema.Ref
	}
	at := map[place]*ranking.Ranked{}
	for step, ranked := range whole {
		for i := range ranked {
			at[place{step, ranked[i].Ref}] = &ranked[i]
		}
	}
	for _, h := range hits {
		for _, h := range append(h.Others, h) {
			if r := at[place{max(h.Step, 1) - 1, h.By.Ref}]; r != nil { // not one that reranking has added
				h.By.Best, h.By.Lead = r.Best, r.Lead
			}
		}
	}
}

// leftOut returns the tools of whole rankings that the answer leaves out and that share something
// with the query, the likeliest first: all that fit better than the best result, or the first, which
// says why an answer is empty. A tool with a copy in the answer is not left out.
func (rq *request) leftOut(ctx context.Context, found Retrieval, whole [][]ranking.Ranked, shown []schema.Result, best float64) (out []leftOut) {
	if whole == nil {
		return nil
	}
	there := map[string]bool{}
	for i := range shown {
		there[shown[i].ID] = true
	}
	open := map[schema.Ref]bool{}
	for _, step := range found.Steps {
		for i := range step.Candidates {
			open[step.Candidates[i].Ref] = true
		}
	}
	type judgedHit struct {
		ranking.Hit
		confidence float64
	}
	var hits []judgedHit
	for _, h := range ranking.Collapse(ranking.Hits(whole, schema.RankTools, ""), rq.req.K+judged, found.Steps[0].Signals.Usage) {
		if h.Kind != schema.KindTool || !shares(h.By) || slices.ContainsFunc(append(h.Others, h), func(h ranking.Hit) bool { return there[h.ID] }) {
			continue
		}
		hits = append(hits, judgedHit{h, h.By.Confidence(rq.model, found.Scale)})
	}
	slices.SortStableFunc(hits, func(a, b judgedHit) int { return cmp.Compare(b.confidence, a.confidence) })
	connectionOf := catalogue.ConnectionOf(rq.calls, rq.caller)
	for _, h := range hits { // each reads a document
		if fits := h.confidence >= ranking.NothingFits && h.confidence > best; !fits && len(shown)+len(out) > 0 {
			break
		}
		if l := rq.whyLeftOut(ctx, h.Hit, h.confidence, open[h.Ref], connectionOf); l.Reason != "" {
			out = append(out, l)
		}
	}
	return out
}

// whyLeftOut returns a tool and why the answer leaves it out; without a reason, if only places were
// missing. The index did not leave out open tools.
func (rq *request) whyLeftOut(ctx context.Context, h ranking.Hit, confidence float64, open bool, connectionOf func(*catalogue.Known) *schema.Connection) leftOut {
	e, raw, ok, err := rq.index.Catalogue.Get(ctx, h.Ref, rq.scope)
	if err != nil || !ok {
		return leftOut{}
	}
	connection := connectionOf(&catalogue.Known{Entity: e, Raw: raw})
	flagged := slices.ContainsFunc(e.Document.Flags, func(flag string) bool { return slices.Contains(rq.req.Exclude, flag) })
	out := leftOut{Withheld: schema.Withheld{Name: cmp.Or(e.CallableName, e.ID), Confidence: confidence}, quiet: flagged || e.Document.Quarantined}
	switch {
	case e.Document.Quarantined:
		out.Reason = schema.ReasonQuarantine
	case rq.req.Connected && !connection.Connected:
		out.Reason, out.Why = connection.Reason, connection.Why
	case flagged, !open:
		out.Reason, out.Why = schema.ReasonFilters, "the filters of the search leave it out"
	case confidence < rq.req.MinConfidence:
		out.Reason, out.Why = schema.ReasonFilters, "its confidence is below min_confidence"
	}
	return out
}

// shares reports whether a candidate shares anything with the query: words, meaning, or what else
// agents used or need for it.
func shares(r *ranking.Ranked) bool {
	for f, x := range r.Features {
		switch fusion.Feature(f) {
		case fusion.UsagePrior, fusion.RelatedOwner, fusion.RelatedNeed, fusion.QueryVerb:
		default:
			if x != 0 {
				return true
			}
		}
	}
	return false
}
