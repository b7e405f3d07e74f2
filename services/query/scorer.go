package query

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Scorer is a cross-encoder: it reads the query and a text together.
type Scorer interface {
	// Score returns for each text, in order, how relevant it is to the query,
	// from 0 to 1. It waits no longer than ctx lasts.
	Score(ctx context.Context, query string, texts []string) ([]float64, error)
}

// maxJudged bounds what a cross-encoder reads of a tool, in bytes: few read more
// than 512 tokens.
const maxJudged = 2 << 10

// judged lets the cross-encoder order what can be reordered; the rest follows as
// it is, as relevant as nothing. It returns the bounds by which to reorder what it
// made: all that was judged takes part, wherever it stands now. Where it does not answer
// in time, or with what can not be, the lineup stays as it was.
func (s *Service) judged(ctx context.Context, sr *search, l lineup) (lineup, rerank.Config) {
	bounds := s.cfg.Reranking
	if s.deps.Scorer == nil {
		return l, bounds
	}
	kept, cut := bounds.Truncate(l.items)
	scores, err := s.score(ctx, sr, l, kept)
	s.mute.Note(ctx, s.deps.Logger, err, "query: the cross-encoder does not answer, results stay in the order of their scores", "query: the cross-encoder answers again")
	if err != nil {
		sr.degrade(degradedRerank)
		return l, bounds
	}
	sr.reordered.relevance = make(map[schema.Ref]float64, len(kept))
	for i, at := range kept {
		l.items[at].Score = scores[i]
		sr.reordered.relevance[l.ranked[at].Ref] = scores[i]
	}
	for _, at := range cut {
		l.items[at].Score = 0
	}
	slices.SortStableFunc(kept, func(a, b int) int { return cmp.Compare(l.items[b].Score, l.items[a].Score) })
	var out lineup
	for _, at := range slices.Concat(kept, cut) {
		out.ranked = append(out.ranked, l.ranked[at])
		out.items = append(out.items, l.items[at])
		out.from = append(out.from, l.from[at])
	}
	bounds.KeepSeen, bounds.KeepUnseen = len(kept), len(kept)
	return out, bounds
}

// score asks for the relevance of what stands at these places, within its budget.
func (s *Service) score(ctx context.Context, sr *search, l lineup, places []int) ([]float64, error) {
	ctx, cancel := budgeted(ctx, s.cfg.ScoreBudget)
	defer cancel()
	texts := make([]string, len(places))
	for i, at := range places {
		e, _, _, err := sr.view.Catalogue.Get(ctx, l.ranked[at].Ref)
		if err != nil {
			return nil, err
		}
		texts[i] = text.Truncate(e.Document.Name+". "+e.Document.Description, maxJudged)
	}
	scores, err := s.deps.Scorer.Score(ctx, sr.plan.query, texts)
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
