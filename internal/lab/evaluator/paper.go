package evaluator

import (
	"context"
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/internal/lab/paper"
	"github.com/toolstream/toolstream/internal/server/embedding"
)

// reference ranks by the paper's exact scoring with the weights that its authors learned, fold
// by fold: by BM25, or with dense retrieval by the cosine of the configured embedding model,
// which then should be all-MiniLM-L6-v2. It uses the recorded documents and queries.
func (e *evaluator) reference(ctx context.Context) ([][]relevance.Ranked, error) {
	for _, err := range e.set.Tools() {
		if err != nil {
			return nil, err
		}
		e.tools++
	}
	tools, err := e.set.Standardized()
	if err != nil {
		return nil, err
	}
	var model paper.Model // nil: BM25
	retriever := "bm25"
	if e.Settings.Retrieval == Dense {
		opened, closer, err := embedding.Open(ctx, e.Config)
		if err != nil {
			return nil, err
		}
		defer closer.Close() // nothing is written to it
		model, retriever = opened, "all-MiniLM-L6-v2"
	}
	scorer, err := paper.New(ctx, tools, model)
	if err != nil {
		return nil, err
	}
	models, err := paper.References(e.set, retriever, scorer.Fields())
	if err != nil {
		return nil, err
	}
	parts, err := e.set.Folds(folds)
	if err != nil {
		return nil, err
	}
	if len(parts) != len(models) {
		return nil, fmt.Errorf("data set %s: %d folds, and weights of %d", e.set.Name, len(parts), len(models))
	}
	rankings := make([][]relevance.Ranked, len(e.queries))
	for i, q := range e.queries {
		if q.Rewritten == nil {
			return nil, fmt.Errorf("query %s has no rewritten_query, which the paper's scoring needs", q.ID)
		}
		fold := slices.IndexFunc(parts, func(ids []string) bool { return slices.Contains(ids, q.ID) })
		scored, err := scorer.Score(ctx, q.Rewritten)
		if err != nil {
			return nil, fmt.Errorf("query %s: %w", q.ID, err)
		}
		ranking := make([]relevance.Ranked, len(scored))
		for j, id := range scorer.Tools() {
			score, _ := models[fold].Score(&scored[j].Features, scored[j].Matches, models[fold].Unit(0))
			ranking[j] = relevance.Ranked{ID: id, Score: score}
		}
		relevance.Sort(ranking)
		rankings[i] = ranking[:min(len(ranking), relevance.MaxRanking)]
	}
	return rankings, nil
}
