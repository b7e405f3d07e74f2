package evaluator

import (
	"cmp"
	"context"
	"errors"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/search"
)

// reordered bounds the candidates, the best by the index, that reranking can compare by
// their vectors.
const reordered = 200

// reordering reranks results that were ranked with these signals.
type reordering func(ranked []ranking.Ranked, signals ranking.Signals) []ranking.Ranked

// reorder returns the reordering of --rerank for query i, nil if it is off. The usage decides
// which tools count as seen.
func (e *evaluator) reorder(ctx context.Context, i int, step search.Step, m *fusion.Model, usage *schema.Usage) reordering {
	if e.Settings.Rerank == Off {
		return nil
	}
	var known *ranking.Usage
	if usage != nil {
		known = ranking.NewUsage(*usage)
	}
	classifier := rerank.DefaultConfig().Classifier
	return func(ranked []ranking.Ranked, signals ranking.Signals) []ranking.Ranked {
		step.Signals = signals
		req := schema.SearchRequest{Query: e.queries[i].Text, Rerank: schema.Rerank(e.Settings.Rerank), Arguments: e.queries[i].Arguments}
		out, evidence, err := e.query.Rerank(ctx, req, m, known, step, ranked)
		if err != nil {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.unranked = errors.Join(e.unranked, err)
			return ranked
		}
		e.single[i] = classifier.Single(evidence)
		return out
	}
}

// owning returns the owners of the tools that are relevant to a query. A tool without an owner
// counts as its own owner.
func owning(q *dataset.Query, owners map[string]string) map[string]bool {
	out := map[string]bool{}
	for _, label := range q.Labels {
		if label.Relevance > 0 {
			out[cmp.Or(owners[label.ID], label.ID)] = true
		}
	}
	return out
}
