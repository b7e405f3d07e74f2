package evaluator

import (
	"context"
	"errors"

	"github.com/toolstream/toolstream/internal/lab/evaluation"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query"
)

// reordered bounds the candidates, the best by the index, that reranking can compare by
// their vectors.
const reordered = 200

// reordering reranks what was ranked with these signals.
type reordering func(ranked []ranking.Ranked, signals ranking.Signals) []ranking.Ranked

// reorder returns how --rerank has the ranking of query i, nil where it is off. Tools are
// seen that the usage knows.
func (e *evaluator) reorder(ctx context.Context, i int, step query.Step, m *fusion.Model, usage *schema.Usage) reordering {
	if e.Settings.Rerank == evaluation.Off {
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

// noteReranked notes how often --rerank auto took a query for what it is.
func (e *evaluator) noteReranked() {
	if e.Settings.Rerank != evaluation.Auto {
		return
	}
	right := 0
	for i, single := range e.single {
		if single >= 0.5 == (len(e.owning(i)) == 1) {
			right++
		}
	}
	e.note("whether one owner answers a query is told right for %.1f %% of %d queries", 100*float64(right)/float64(len(e.queries)), len(e.queries))
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
