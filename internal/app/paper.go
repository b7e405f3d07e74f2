package app

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/evaluation/paper"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// The retrievers of reference weights.
const (
	bm25Retriever  = "bm25"
	denseRetriever = "all-MiniLM-L6-v2"
)

// Reference returns what ranks by the paper's exact scoring with the weights
// that its authors learned, fold by fold: by BM25, or with dense retrieval by
// the cosine of the configured embedding model, which then should be
// all-MiniLM-L6-v2. Documents and queries are the recorded ones.
func Reference(cfg config.Config) func(context.Context, *dataset.Set, evaluation.Settings, []dataset.Query) ([][]evaluation.Ranked, error) {
	return func(ctx context.Context, set *dataset.Set, s evaluation.Settings, queries []dataset.Query) ([][]evaluation.Ranked, error) {
		scorer, closer, err := newScorer(ctx, cfg, set, s.Retrieval == evaluation.Dense)
		if err != nil {
			return nil, err
		}
		defer closer.Close() // nothing is written to it
		retriever := bm25Retriever
		if s.Retrieval == evaluation.Dense {
			retriever = denseRetriever
		}
		models, err := paper.References(set, retriever, scorer.Fields())
		if err != nil {
			return nil, err
		}
		return rankPaper(ctx, set, scorer, models, queries)
	}
}

// newScorer returns the paper's scorer of a set: BM25, or dense.
func newScorer(ctx context.Context, cfg config.Config, set *dataset.Set, dense bool) (*paper.Scorer, io.Closer, error) {
	tools, err := set.Standardized()
	if err != nil {
		return nil, nil, err
	}
	if !dense {
		scorer, err := paper.New(ctx, tools, nil)
		return scorer, io.NopCloser(nil), err
	}
	model, closer, err := NewModel(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	scorer, err := paper.New(ctx, tools, model)
	return scorer, closer, err
}

// rankPaper ranks every query by the model of the fold that it is tested in.
func rankPaper(ctx context.Context, set *dataset.Set, scorer *paper.Scorer, models []fusion.Model, queries []dataset.Query) ([][]evaluation.Ranked, error) {
	parts, err := set.Folds(folds)
	if err != nil {
		return nil, err
	}
	if len(parts) != len(models) {
		return nil, fmt.Errorf("data set %s: %d folds, and weights of %d", set.Name, len(parts), len(models))
	}
	rankings := make([][]evaluation.Ranked, len(queries))
	for i, q := range queries {
		if q.Rewritten == nil {
			return nil, fmt.Errorf("query %s has no rewritten_query, which the paper's scoring needs", q.ID)
		}
		fold := slices.IndexFunc(parts, func(ids []string) bool { return slices.Contains(ids, q.ID) })
		scored, err := scorer.Score(ctx, q.Rewritten)
		if err != nil {
			return nil, fmt.Errorf("query %s: %w", q.ID, err)
		}
		ranking := make([]evaluation.Ranked, len(scored))
		for j, id := range scorer.Tools() {
			score, _ := models[fold].Score(&scored[j].Features, scored[j].Matches)
			ranking[j] = evaluation.Ranked{ID: id, Score: score}
		}
		evaluation.Sort(ranking)
		rankings[i] = ranking[:min(len(ranking), evaluation.MaxRanking)]
	}
	return rankings, nil
}
