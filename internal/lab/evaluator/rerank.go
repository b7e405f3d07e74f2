package evaluator

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/toolstream/toolstream/internal/lab/evaluation"
	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query"
)

// rerank returns the rankings as --rerank has them.
func (e *evaluator) rerank(ctx context.Context, rankings [][]evaluation.Ranked) ([][]evaluation.Ranked, error) {
	if e.Settings.Rerank == evaluation.Off {
		return rankings, nil
	}
	config, words := rerank.DefaultConfig(), map[string]rerank.Words{}
	items, orders := make([][]rerank.Item, len(rankings)), make([][]rerank.Place, len(rankings))
	var err error
	for i, ranking := range rankings {
		if items[i], err = e.itemsOf(ctx, ranking, config.KeepUnseen, words); err != nil {
			return nil, fmt.Errorf("rerank: query %s: %w", e.queries[i].ID, err)
		}
		switch e.Settings.Rerank {
		case evaluation.Single:
			orders[i] = config.Single(rerank.Calibrate(items[i]), nil)
		case evaluation.Multi:
			orders[i] = config.Multi(rerank.Calibrate(items[i]))
		}
	}
	if e.Settings.Rerank == evaluation.Auto {
		if err := e.rerankAuto(config, items, orders); err != nil {
			return nil, fmt.Errorf("rerank: %w", err)
		}
	}
	out := make([][]evaluation.Ranked, len(rankings))
	for i, order := range orders {
		for _, place := range order {
			out[i] = append(out[i], rankings[i][place.At])
		}
	}
	return out, nil
}

// itemsOf returns a ranking as reranking sees it, with the words of the first keep
// documents, which can be reordered. It adds these to words.
func (e *evaluator) itemsOf(ctx context.Context, ranking []evaluation.Ranked, keep int, words map[string]rerank.Words) ([]rerank.Item, error) {
	items := make([]rerank.Item, len(ranking))
	for i, place := range ranking {
		items[i] = rerank.Item{ID: place.ID, Owner: e.owners[place.ID], Score: place.Score}
		if i >= keep {
			continue
		}
		if _, known := words[place.ID]; !known {
			tool, _, _, err := e.index.Get(ctx, schema.Ref{Tenant: tenant.Default, Kind: schema.KindTool, ID: place.ID})
			if err != nil {
				return nil, err
			}
			words[place.ID] = query.DocumentWords(&tool.Document)
		}
		items[i].Words = words[place.ID]
	}
	return items, nil
}

// rerankAuto sets the orders of --rerank auto. Seen owners are those that the labels of the
// other folds name.
func (e *evaluator) rerankAuto(config rerank.Config, items [][]rerank.Item, orders [][]rerank.Place) error {
	parts, err := e.set.Folds(folds)
	if err != nil {
		return err
	}
	right := 0
	for _, part := range parts {
		seen := map[string]bool{}
		for i, q := range e.queries {
			if !slices.Contains(part, q.ID) {
				maps.Copy(seen, e.owning(i))
			}
		}
		for i, q := range e.queries {
			if !slices.Contains(part, q.ID) {
				continue
			}
			needs := query.NeedWords(schema.SearchRequest{Query: q.Text})
			for j := range items[i] {
				it := &items[i][j]
				it.Seen = seen[it.Owner] || it.Owner == "" && seen[it.ID]
			}
			single := rerank.SingleProbability(items[i], len(needs))
			orders[i] = config.Order(rerank.Calibrate(items[i]), needs, config.Choose(items[i], single))
			if single >= 0.5 == (len(e.owning(i)) == 1) {
				right++
			}
		}
	}
	e.note("whether one owner answers a query is told right for %.1f %% of %d queries", 100*float64(right)/float64(len(e.queries)), len(e.queries))
	return nil
}

// owning returns the owners of what is relevant to query i; a tool without one
// stands for itself.
func (e *evaluator) owning(i int) map[string]bool {
	owners := map[string]bool{}
	for _, label := range e.queries[i].Labels {
		if owner := e.owners[label.ID]; label.Relevance > 0 && owner != "" {
			owners[owner] = true
		} else if label.Relevance > 0 {
			owners[label.ID] = true
		}
	}
	return owners
}
