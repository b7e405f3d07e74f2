package paper

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// LearnedName is the version of the models that Train returns.
const LearnedName = "paper"

// Train learns a model from pairs anew, as the authors do: a linear layer over
// the four fields that begins anywhere within half a unit, tau at one half, Adam
// at 0.1 on 256 pairs a step, 5 epochs. The seed decides the beginning and the
// order of the pairs. Where the authors let the prices begin is not published;
// small ones let the fields settle first, and from 0.03 to 0.3 the outcome is the
// same, while from 1 on it is worse.
func Train(pairs []fusion.Pair, f Fields, seed uint64) (fusion.Model, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	begin := fusion.Model{Version: LearnedName, Tau: 0.5, Alpha: 15, Required: 0.3, Optional: 0.3}
	for _, feature := range f.list() {
		begin.Features[feature] = rng.Float64() - 0.5
	}
	return fusion.Train(begin, pairs, fusion.LearnConfig{Rate: 0.1, Batch: 256, Epochs: 5, Seed: seed, Free: true})
}

// Pairs returns what the labels of each query say: every relevant tool is
// better than each of the query's hard negatives, which are recorded with the
// set. A query without a recorded rewrite or hard negatives has no pairs.
func (s *Scorer) Pairs(ctx context.Context, set *dataset.Set) (map[string][]fusion.Pair, error) {
	queries, err := set.Queries()
	if err != nil {
		return nil, err
	}
	recorded, err := set.HardNegatives()
	if err != nil {
		return nil, err
	}
	negatives := make(map[string][]string, len(recorded))
	for _, n := range recorded {
		negatives[n.Query] = n.Tools
	}
	pairs := make(map[string][]fusion.Pair, len(queries))
	for i := range queries {
		if pairs[queries[i].ID], err = s.pairs(ctx, &queries[i], negatives[queries[i].ID]); err != nil {
			return nil, fmt.Errorf("query %s: %w", queries[i].ID, err)
		}
	}
	return pairs, nil
}

func (s *Scorer) pairs(ctx context.Context, q *dataset.Query, negatives []string) ([]fusion.Pair, error) {
	if q.Rewritten == nil || len(negatives) == 0 {
		return nil, nil
	}
	scored, err := s.Score(ctx, q.Rewritten)
	if err != nil {
		return nil, err
	}
	var pairs []fusion.Pair
	for _, label := range q.Labels {
		better := s.at(label.ID)
		if label.Relevance <= 0 || better < 0 {
			continue
		}
		for _, id := range negatives {
			worse := s.at(id)
			if worse < 0 {
				return nil, fmt.Errorf("hard negative %s is no standardized tool", id)
			}
			pairs = append(pairs, fusion.Pair{Better: scored[better], Worse: scored[worse]})
		}
	}
	return pairs, nil
}

// at returns the position of a tool, -1 for one that is not there.
func (s *Scorer) at(id string) int {
	return slices.IndexFunc(s.tools, func(t dataset.Standardized) bool { return t.ID == id })
}

// CrossValidated returns a model for each fold, learned from the pairs of the
// queries that are in the other folds.
func CrossValidated(pairs map[string][]fusion.Pair, folds [][]string, f Fields, seed uint64) ([]fusion.Model, error) {
	models := make([]fusion.Model, len(folds))
	for i := range folds {
		var train []fusion.Pair
		for j, fold := range folds {
			if j == i {
				continue
			}
			for _, query := range fold {
				train = append(train, pairs[query]...)
			}
		}
		var err error
		if models[i], err = Train(train, f, seed); err != nil {
			return nil, fmt.Errorf("fold %d: %w", i, err)
		}
	}
	return models, nil
}
