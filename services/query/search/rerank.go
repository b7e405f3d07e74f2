package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Scorer is a cross-encoder: it reads the query and a text together, which is the name
// of a tool, a full stop and its description.
type Scorer interface {
	// Score returns for each text, in order, how relevant it is to the query,
	// from 0 to 1. It waits no longer than ctx lasts.
	Score(ctx context.Context, query string, texts []string) ([]float64, error)
}

// maxExtended bounds the extended list.
const maxExtended = 50

// maxJudged bounds the bytes of a tool that a cross-encoder reads: few read more than 512
// tokens.
const maxJudged = 2 << 10

// reranked is a ranking in its new order, and how it came about.
type reranked struct {
	ranked    []ranking.Ranked
	algorithm rerank.Algorithm
	evidence  rerank.Evidence                 // that one owner answers the query; in mode auto
	single    float64                         // the probability of it
	relevance map[schema.Ref]float64          // by the cross-encoder, if it judged the tool
	moves     map[schema.Ref]schema.Reranking // of all results; only if they are explained
}

// place is a place of a ranking.
type place struct {
	ranking.Ranked
	item      rerank.Item
	from      int      // by the score, from 1
	relevance *float64 // by the cross-encoder, if it judged the tool
}

// reranker reorders a ranking of a search.
type reranker struct {
	*request
	query string
	step  Step // whose candidates are ranked
}

// rerank puts a ranking into the order of ToolRerank (arXiv 2403.06551), after the
// cross-encoder has judged it, if there is one. Tools without a provider are not
// reordered by providers, and a ranking of providers stays as it is.
func (rq *request) rerank(ctx context.Context, q query, rank schema.Rank, step Step, ranked []ranking.Ranked) reranked {
	owned := slices.ContainsFunc(ranked, func(r ranking.Ranked) bool { return r.Kind == schema.KindTool && r.Provider != "" })
	if len(ranked) == 0 || rq.req.Rerank == schema.RerankOff || rank == schema.RankProviders || !owned && rq.deps.Scorer == nil {
		return reranked{ranked: ranked}
	}
	ctx, st := rq.stage(ctx, "rerank")
	defer st.end(nil)
	judging, cancel := budgeted(ctx, rq.cfg.ScoreBudget)
	defer cancel()
	r := reranker{rq, q.text, step}

	var out reranked
	limits := &rq.cfg.Reranking
	var kept, cut []place
	for i, p := range placesOf(ranked, rq.usage) {
		if p.item.Cut = !limits.Keeps(i, p.item.Seen); p.item.Cut {
			cut = append(cut, p)
		} else {
			kept = append(kept, p)
		}
	}
	judged := rq.deps.Scorer != nil && r.judge(judging, kept)
	switch {
	case !owned:
	case rq.req.Rerank == schema.RerankAuto:
		if out.evidence = rerank.EvidenceOf(itemsOf(kept)); out.evidence.Needs > 0 {
			out.single, out.algorithm = limits.Classifier.Single(out.evidence), limits.Classifier.Choose(out.evidence)
		}
	default:
		out.algorithm = rerank.Algorithm(rq.req.Rerank)
	}

	best, places := kept[0].item.Score, kept
	for _, p := range cut { // in the order of their places, which they keep
		if judged { // the cross-encoder did not judge it
			p.item.Score = places[p.from-2].item.Score
		}
		places = slices.Insert(places, p.from-1, p)
	}
	calibrate(places, best)
	found := len(places)
	if out.algorithm == rerank.Single {
		more := r.extend(ctx, places)
		if len(more) > 0 && (!judged || r.judge(judging, more)) {
			calibrate(more, best)
			places = slices.DeleteFunc(places, func(p place) bool {
				return slices.ContainsFunc(more, func(m place) bool { return m.Ref == p.Ref })
			})
			found = len(places)
			places = append(places, more...)
		}
	}
	r.arrange(&out, places, found)
	return out
}

// placesOf returns a ranking as it is reordered. A tool is seen if any tool of its provider was
// used.
func placesOf(ranked []ranking.Ranked, usage *ranking.Usage) []place {
	places := make([]place, len(ranked))
	seen := map[string]bool{}
	for i, r := range ranked {
		item := rerank.Item{ID: r.ID, Owner: ranking.Owner(&r.Candidate), Score: r.Score, Needs: r.Needs, Vector: r.Vector}
		places[i] = place{Ranked: r, item: item, from: i + 1}
		seen[item.Owner] = seen[item.Owner] || usage.Used(r.ID)
	}
	for i := range places {
		it := &places[i].item
		it.Seen = seen[it.Owner]
		if it.Owner == "" {
			it.Seen = usage.Used(it.ID)
		}
	}
	return places
}

// judge orders places by the Scorer's scores. Without an answer before ctx ends they keep their
// order, and it returns false.
func (r *reranker) judge(ctx context.Context, places []place) bool {
	scores, err := r.score(ctx, places)
	r.scoring.LogChange(ctx, r.deps.Logger, err, "query: the cross-encoder does not answer, results stay in the order of their scores", "query: the cross-encoder answers again")
	if err != nil {
		r.degraded.add(degradedRerank)
		return false
	}
	for i := range places {
		places[i].relevance, places[i].item.Score = &scores[i], scores[i]
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(b.item.Score, a.item.Score) })
	return true
}

// score returns the cross-encoder's scores of some places.
func (r *reranker) score(ctx context.Context, places []place) ([]float64, error) {
	texts := make([]string, len(places))
	for i := range places {
		e, _, _, err := r.index.Catalogue.Get(ctx, places[i].Ref, r.scope)
		if err != nil {
			return nil, err
		}
		texts[i] = text.Truncate(e.Document.Name+". "+e.Document.Description, maxJudged)
	}
	var scores []float64
	var err error
	r.withoutSlot(r.deps.ScoresElsewhere, func() { scores, err = r.deps.Scorer.Score(ctx, r.query, texts) })
	if err != nil {
		return nil, err
	}
	if len(scores) != len(texts) {
		return nil, fmt.Errorf("%d scores for %d texts", len(scores), len(texts))
	}
	for _, x := range scores {
		if math.IsNaN(x) || x < 0 || x > 1 {
			return nil, fmt.Errorf("a score of %v", x)
		}
	}
	return scores, nil
}

// itemsOf returns places as package rerank sees them.
func itemsOf(places []place) []rerank.Item {
	items := make([]rerank.Item, len(places))
	for i := range places {
		items[i] = places[i].item
	}
	return items
}

// calibrate gives places scores that thresholds can be compared with.
func calibrate(places []place, best float64) {
	for i := range places {
		places[i].item.Score = rerank.Calibrate(places[i].item.Score, best)
	}
}

// extend returns the extended list: the remaining tools in the library of unseen clear owners,
// scored as the candidates are. It is empty if the index does not answer.
func (r *reranker) extend(ctx context.Context, places []place) []place {
	owners := r.cfg.Reranking.Unseen(itemsOf(places))
	if len(owners) == 0 {
		return nil
	}
	l := r.step.lookup
	l.Exclude = slices.Concat(l.Exclude, l.Behind)
	l.Kinds, l.Filters.Providers = []schema.Kind{schema.KindTool}, owners // the filters admit them: they were found
	l.Model, l.Also, l.Rerank = *r.model, nil, false
	l.N = r.cfg.Reranking.KeepUnseen + maxExtended
	library, err := r.find(ctx, l)
	if err != nil {
		r.degraded.add(degradedRerank)
		return nil
	}
	known := map[schema.Ref]bool{}
	for i := range r.step.Candidates {
		known[r.step.Candidates[i].Ref] = true
	}
	wanted, candidates := map[schema.Ref]bool{}, slices.Clone(r.step.Candidates)
	for _, c := range library {
		wanted[c.Ref] = !slices.ContainsFunc(places, func(p place) bool { return p.Ref == c.Ref && !p.item.Cut })
		if !known[c.Ref] {
			candidates = append(candidates, c)
		}
	}
	var more []place
	for _, p := range placesOf(ranking.Rank(candidates, r.model, r.step.Signals), r.usage) {
		if wanted[p.Ref] && len(more) < maxExtended {
			more = append(more, p)
		}
	}
	return more
}

// arrange puts places into the order of the algorithm. The first of them, as many as were
// found, are candidates, the others the extended list.
func (r *reranker) arrange(out *reranked, places []place, found int) {
	var order []rerank.Place
	switch out.algorithm {
	case rerank.Single:
		order = r.cfg.Reranking.Single(itemsOf(places), found)
	case rerank.Multi:
		order = r.cfg.Reranking.Multi(itemsOf(places))
	default:
		order = make([]rerank.Place, len(places))
		for i := range order {
			order[i].At = i
		}
	}
	out.ranked = make([]ranking.Ranked, len(order))
	out.relevance, out.moves = map[schema.Ref]float64{}, map[schema.Ref]schema.Reranking{}
	for to, at := range order {
		p := &places[at.At]
		out.ranked[to] = p.Ranked
		if p.relevance != nil {
			out.relevance[p.Ref] = *p.relevance
		}
		if r.req.Explain {
			out.moves[p.Ref] = schema.Reranking{
				Algorithm: cmp.Or(schema.Rerank(out.algorithm), schema.RerankOff), Single: out.single,
				Calibrated: p.item.Score, From: p.from, To: to + 1, Why: string(at.Why),
			}
		}
	}
}
