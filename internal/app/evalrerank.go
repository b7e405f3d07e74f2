package app

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query"
)

// reranker reorders the rankings of an evaluation by who owns their tools.
type reranker struct {
	config  rerank.Config
	items   [][]rerank.Item  // of each query's ranking
	needs   [][]rerank.Words // of each query, where they are asked for
	signals []rerank.Signals // of each query
	single  []bool           // whether one owner has all that the query's labels name
	words   map[string]rerank.Words
}

// rerank returns the rankings as --rerank has them.
func (e *evaluator) rerank(ctx context.Context, r *registry, rankings [][]evaluation.Ranked) ([][]evaluation.Ranked, error) {
	if e.Settings.Rerank == evaluation.Off {
		return rankings, nil
	}
	re := reranker{config: rerank.DefaultConfig(), words: map[string]rerank.Words{}}
	for i, ranking := range rankings {
		items, err := e.itemsOf(ctx, r, &re, ranking)
		if err != nil {
			return nil, fmt.Errorf("rerank: query %s: %w", e.queries[i].ID, err)
		}
		re.items = append(re.items, items)
	}
	orders, err := e.reordered(&re)
	if err != nil {
		return nil, fmt.Errorf("rerank: %w", err)
	}
	out := make([][]evaluation.Ranked, len(rankings))
	for i, order := range orders {
		for _, place := range order {
			out[i] = append(out[i], rankings[i][place.At])
		}
	}
	return out, nil
}

// itemsOf returns a ranking as reranking sees it. Words are known of what can be
// reordered.
func (e *evaluator) itemsOf(ctx context.Context, r *registry, re *reranker, ranking []evaluation.Ranked) ([]rerank.Item, error) {
	items := make([]rerank.Item, len(ranking))
	for i, place := range ranking {
		items[i] = rerank.Item{ID: place.ID, Owner: e.owners[place.ID], Score: place.Score}
		if i >= re.config.KeepUnseen {
			continue
		}
		words, known := re.words[place.ID]
		if !known {
			tool, _, _, err := r.index.Get(ctx, schema.Ref{Tenant: tenant.Default, Kind: schema.KindTool, ID: place.ID})
			if err != nil {
				return nil, err
			}
			words = query.DocumentWords(&tool.Document)
			re.words[place.ID] = words
		}
		items[i].Words = words
	}
	return items, nil
}

// reordered returns the new order of every ranking.
func (e *evaluator) reordered(re *reranker) ([][]rerank.Place, error) {
	orders := make([][]rerank.Place, len(re.items))
	for i, items := range re.items {
		switch e.Settings.Rerank {
		case evaluation.Single:
			orders[i] = re.config.Single(rerank.Calibrate(items), nil)
		case evaluation.Multi:
			orders[i] = re.config.Multi(rerank.Calibrate(items))
		}
	}
	if e.Settings.Rerank != evaluation.Auto && e.Settings.Rerank != evaluation.Learned {
		return orders, nil
	}
	return orders, e.classified(re, orders)
}

// classified sets the orders that --rerank auto and learned have: by what the
// other folds teach of which queries one owner answers.
func (e *evaluator) classified(re *reranker, orders [][]rerank.Place) error {
	parts, err := e.set.Folds(folds)
	if err != nil {
		return err
	}
	for i, q := range e.queries {
		re.needs = append(re.needs, query.NeedWords(schema.SearchRequest{Query: q.Text}))
		re.signals = append(re.signals, rerank.SignalsOf(re.items[i], re.needs[i]))
		re.single = append(re.single, len(e.owning(i)) == 1)
	}
	right, taught := 0, 0
	for _, part := range parts {
		config := re.config
		if e.Settings.Rerank == evaluation.Learned {
			config = e.bounds(re, parts, part)
		}
		for at, j := range e.told(re, part, part) {
			p := j.Single
			orders[at] = config.Order(j.Items, j.Needs, config.Choose(j.Items, p))
			if j.learned {
				taught++
			}
			if p >= 0.5 == re.single[at] {
				right++
			}
		}
	}
	e.note("of %d queries the classifier tells %.1f %% right whether one owner answers them, for %d of them by what was learned from other folds",
		len(e.queries), 100*float64(right)/float64(len(e.queries)), taught)
	if e.Settings.Rerank == evaluation.Learned {
		b := e.bounds(re, parts, nil)
		e.note("all queries teach: rerank.clear %v, rerank.alike %v, rerank.own_need %v, rerank.single_from %v, rerank.multi_to %v",
			b.Clear, b.Alike, b.OwnNeed, b.SingleFrom, b.MultiTo)
	}
	return nil
}

// told is a query of which it was told whether one owner answers it.
type told struct {
	rerank.Judged
	learned bool // by what others taught, not by what is built in
}

// told returns the queries of a fold, by their positions, as what the queries
// outside of some others teaches tells them.
func (e *evaluator) told(re *reranker, fold, without []string) map[int]told {
	classifier, learned, seen := e.taught(re, without)
	out := map[int]told{}
	for i := range e.queries {
		if !slices.Contains(fold, e.queries[i].ID) {
			continue
		}
		j := rerank.Judged{
			Items: rerank.Calibrate(marked(re.items[i], seen)), Needs: re.needs[i], Single: classifier.Probability(re.signals[i]),
		}
		out[i] = told{j, learned}
	}
	return out
}

// bounds returns what all folds but one teach about the bounds: each of their
// queries is told by what the queries outside of its own fold teach.
func (e *evaluator) bounds(re *reranker, parts [][]string, but []string) rerank.Config {
	var rankings []rerank.Judged
	for _, part := range parts {
		if slices.Equal(part, but) {
			continue
		}
		some := e.told(re, part, slices.Concat(part, but))
		for _, i := range slices.Sorted(maps.Keys(some)) {
			j := some[i].Judged
			j.Worth = func(order []rerank.Place) float64 { return e.worth(i, re.items[i], order) }
			rankings = append(rankings, j)
		}
	}
	return rerank.LearnBounds(rerank.Unproven(), rankings)
}

// worth returns the NDCG@5 of an order of the tools found for query i.
func (e *evaluator) worth(i int, items []rerank.Item, order []rerank.Place) float64 {
	var first []evaluation.Ranked
	for _, place := range order[:min(5, len(order))] {
		first = append(first, evaluation.Ranked{ID: items[place.At].ID})
	}
	o := e.judgments[i].Score(first)
	return o.Metrics.Of("ndcg@5")
}

// taught returns what the queries outside of a fold teach: a classifier, that of
// a cold start if they teach none, and the owners that their labels name.
func (e *evaluator) taught(re *reranker, fold []string) (c rerank.Classifier, learned bool, seen map[string]bool) {
	var examples []rerank.Example
	seen = map[string]bool{}
	for i := range e.queries {
		if slices.Contains(fold, e.queries[i].ID) {
			continue
		}
		examples = append(examples, rerank.Example{Signals: re.signals[i], Single: re.single[i]})
		for owner := range e.owning(i) {
			seen[owner] = true
		}
	}
	if c, learned = rerank.Learn(examples); !learned {
		c = rerank.ColdStart()
	}
	return c, learned, seen
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

// marked returns the items with the seen owners marked.
func marked(items []rerank.Item, seen map[string]bool) []rerank.Item {
	out := slices.Clone(items)
	for i := range out {
		out[i].Seen = seen[out[i].Owner] || out[i].Owner == "" && seen[out[i].ID]
	}
	return out
}
