package query

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/fusion"
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

// maxJudged bounds what a cross-encoder reads of a tool, in bytes: few read more
// than 512 tokens.
const maxJudged = 2 << 10

// reranked is a ranking in its new order, and how it came about.
type reranked struct {
	ranked    []ranking.Ranked
	algorithm rerank.Algorithm
	evidence  rerank.Evidence                 // of whether one owner answers the query, and
	single    float64                         // the probability of it, where that decides
	relevance map[schema.Ref]float64          // by the cross-encoder, of what it judged
	moves     map[schema.Ref]schema.Reranking // of everything; only where it is to be explained
}

// place is a place of a ranking.
type place struct {
	ranking.Ranked
	item      rerank.Item
	from      int      // by the score, from 1
	relevance *float64 // by the cross-encoder, of what it judged
}

// reranking returns how a search wants its results to be reordered.
func (s *Service) reranking(sr *search) schema.Rerank { return cmp.Or(sr.req.Rerank, s.cfg.Rerank) }

// Rerank returns a ranking of a step of Retrieve in the order that Search would show it
// in, and the evidence of whether one owner answers the query, where that decides. It is
// for evaluation and training, and fails where any part does not answer.
func (s *Service) Rerank(ctx context.Context, req schema.SearchRequest, m *fusion.Model, usage *ranking.Usage, step Step, ranked []ranking.Ranked) ([]ranking.Ranked, rerank.Evidence, error) {
	index, release := s.snapshot()
	defer release()
	sr := &search{tenant: step.lookup.Tenant, req: req, index: index, model: m, usage: usage}
	out := s.rerank(ctx, sr, parse(req), schema.RankTools, step, ranked)
	if without := sr.parts.names(); len(without) > 0 {
		return nil, out.evidence, fmt.Errorf("query %q: without %v", schema.Quote(req.Query), without)
	}
	return out.ranked, out.evidence, nil
}

// rerank puts a ranking into the order of ToolRerank (arXiv 2403.06551), after the
// cross-encoder has judged it, if there is one. Tools without a provider are not
// reordered by providers, and a ranking of providers stays as it is.
func (s *Service) rerank(ctx context.Context, sr *search, q rewritten, rank schema.Rank, step Step, ranked []ranking.Ranked) reranked {
	out := reranked{ranked: ranked}
	mode := s.reranking(sr)
	owned := slices.ContainsFunc(ranked, func(r ranking.Ranked) bool { return r.Kind == schema.KindTool && r.Provider != "" })
	if len(ranked) == 0 || mode == schema.RerankOff || rank == schema.RankProviders || !owned && s.deps.Scorer == nil {
		return out
	}
	ctx, st := s.stage(ctx, "rerank")
	defer st.end(nil)
	kept, cut := s.truncate(placesOf(sr, ranked))
	judging, cancel := budgeted(ctx, s.cfg.ScoreBudget)
	defer cancel()
	j := judge{Service: s, sr: sr, query: q.text}
	judged := s.deps.Scorer != nil && j.judge(judging, kept)
	switch {
	case !owned:
	case mode == schema.RerankAuto:
		classifier := &s.cfg.Reranking.Classifier
		if out.evidence = rerank.EvidenceOf(itemsOf(kept)); out.evidence.Needs > 0 {
			out.single, out.algorithm = classifier.Single(out.evidence), classifier.Choose(out.evidence)
		}
	default:
		out.algorithm = rerank.Algorithm(mode)
	}
	best, places := kept[0].item.Score, kept
	for _, p := range cut { // in the order of their places, which they keep
		if judged { // nobody judged it
			p.item.Score = places[p.from-2].item.Score
		}
		places = slices.Insert(places, p.from-1, p)
	}
	calibrate(places, best)
	found := len(places)
	if out.algorithm == rerank.Single {
		more := s.extend(ctx, sr, step, places)
		if len(more) > 0 && (!judged || j.judge(judging, more)) {
			calibrate(more, best)
			places = slices.DeleteFunc(places, func(p place) bool { return among(more, p.Ref) })
			found = len(places)
			places = append(places, more...)
		}
	}
	out.take(s.reorder(out.algorithm, places, found), places, sr.req.Explain)
	return out
}

// reorder returns the order of an algorithm; from the position extended on it is of the
// extended list.
func (s *Service) reorder(a rerank.Algorithm, places []place, extended int) []rerank.Place {
	switch a {
	case rerank.Single:
		return s.cfg.Reranking.Single(itemsOf(places), extended)
	case rerank.Multi:
		return s.cfg.Reranking.Multi(itemsOf(places))
	}
	order := make([]rerank.Place, len(places))
	for i := range order {
		order[i].At = i
	}
	return order
}

// take puts places into an order, and says of each how it moved if that is to be
// explained.
func (r *reranked) take(order []rerank.Place, places []place, explain bool) {
	r.ranked = make([]ranking.Ranked, len(order))
	r.relevance, r.moves = map[schema.Ref]float64{}, map[schema.Ref]schema.Reranking{}
	for to, at := range order {
		p := &places[at.At]
		r.ranked[to] = p.Ranked
		if p.relevance != nil {
			r.relevance[p.Ref] = *p.relevance
		}
		if explain {
			r.moves[p.Ref] = schema.Reranking{
				Algorithm: cmp.Or(schema.Rerank(r.algorithm), schema.RerankOff), Single: r.single,
				Calibrated: p.item.Score, From: p.from, To: to + 1, Why: string(at.Why),
			}
		}
	}
}

// placesOf returns a ranking as it is reordered. A tool is seen if one of its provider's
// was used.
func placesOf(sr *search, ranked []ranking.Ranked) []place {
	places := make([]place, len(ranked))
	seen := map[string]bool{}
	for i, r := range ranked {
		item := rerank.Item{ID: r.ID, Owner: ranking.Owner(&r.Candidate), Score: r.Score, Needs: r.Needs, Vector: r.Vector}
		places[i] = place{Ranked: r, item: item, from: i + 1}
		seen[item.Owner] = seen[item.Owner] || sr.usage.Used(r.ID)
	}
	for i := range places {
		it := &places[i].item
		it.Seen = seen[it.Owner]
		if it.Owner == "" {
			it.Seen = sr.usage.Used(it.ID)
		}
	}
	return places
}

// itemsOf returns places as package rerank sees them.
func itemsOf(places []place) []rerank.Item {
	items := make([]rerank.Item, len(places))
	for i := range places {
		items[i] = places[i].item
	}
	return items
}

// truncate divides places into those that are reordered and the rest.
func (s *Service) truncate(places []place) (kept, cut []place) {
	for i := range places {
		p := &places[i]
		if p.item.Cut = !s.cfg.Reranking.Keeps(i, p.item.Seen); p.item.Cut {
			cut = append(cut, *p)
		} else {
			kept = append(kept, *p)
		}
	}
	return kept, cut
}

// calibrate gives places scores that thresholds can be compared with.
func calibrate(places []place, best float64) {
	for i := range places {
		places[i].item.Score = rerank.Calibrate(places[i].item.Score, best)
	}
}

func among(places []place, ref schema.Ref) bool {
	return slices.ContainsFunc(places, func(p place) bool { return p.Ref == ref })
}

// extend returns the extended list: of clear owners that are unseen, the tools of the
// library that are not among those reordered, scored as what was found. It is empty where
// the index does not answer.
func (s *Service) extend(ctx context.Context, sr *search, step Step, places []place) []place {
	owners := s.cfg.Reranking.Unseen(itemsOf(places))
	if len(owners) == 0 {
		return nil
	}
	l := step.lookup
	l.Exclude = slices.Concat(l.Exclude, l.Behind)
	l.Kinds, l.Filters.Providers = []schema.Kind{schema.KindTool}, owners // which the filters let through, or they were not found
	l.Model, l.Also, l.Rerank = *sr.model, nil, false
	l.N = s.cfg.Reranking.KeepUnseen + maxExtended
	library, err := s.find(ctx, sr, l)
	if err != nil {
		sr.parts.without(degradedRerank)
		return nil
	}
	known := map[schema.Ref]bool{}
	for i := range step.Candidates {
		known[step.Candidates[i].Ref] = true
	}
	wanted, candidates := map[schema.Ref]bool{}, slices.Clone(step.Candidates)
	for _, c := range library {
		wanted[c.Ref] = !slices.ContainsFunc(places, func(p place) bool { return p.Ref == c.Ref && !p.item.Cut })
		if !known[c.Ref] {
			candidates = append(candidates, c)
		}
	}
	var more []place
	for _, p := range placesOf(sr, ranking.Rank(candidates, sr.model, step.Signals)) {
		if wanted[p.Ref] && len(more) < maxExtended {
			more = append(more, p)
		}
	}
	return more
}

// judge lets the Scorer of a search judge places.
type judge struct {
	*Service
	sr    *search
	query string
}

// judge orders places by what the Scorer says, within ctx. Without an answer in time they
// stay as they were, and it returns false.
func (j *judge) judge(ctx context.Context, places []place) bool {
	says, err := j.score(ctx, j.sr, j.query, places)
	j.scoring.Note(ctx, j.deps.Logger, err, "query: the cross-encoder does not answer, results stay in the order of their scores", "query: the cross-encoder answers again")
	if err != nil {
		j.sr.parts.without(degradedRerank)
		return false
	}
	for i := range places {
		p := &places[i]
		p.relevance = &says[i]
		p.item.Score = says[i]
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(b.item.Score, a.item.Score) })
	return true
}

// score returns the cross-encoder's scores of some places.
func (s *Service) score(ctx context.Context, sr *search, query string, places []place) ([]float64, error) {
	texts := make([]string, len(places))
	for i := range places {
		e, _, _, err := sr.index.Catalogue.Get(ctx, places[i].Ref, sr.scope)
		if err != nil {
			return nil, err
		}
		texts[i] = text.Truncate(e.Document.Name+". "+e.Document.Description, maxJudged)
	}
	var scores []float64
	var err error
	sr.turn.away(s.deps.ScoresElsewhere, func() { scores, err = s.deps.Scorer.Score(ctx, query, texts) })
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
