package training

import (
	"context"
	"math"
	"slices"

	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// parts is how many parts the queries are cut into, of which each is left out once.
const parts = 4

// clearly is the part of the loss by which a lower price has to lose less: a
// tie goes to the smaller correction.
const clearly = 0.01

// chooseL2 returns the price of correction whose models lose least on queries
// that they were not learned from, and keeps these models.
func (l *lesson) chooseL2(ctx context.Context, groups [][]fusion.Group) (best float64, err error) {
	least := math.Inf(1)
	for _, l2 := range l.cfg.L2 {
		models, lost, err := l.leaveOut(ctx, groups, l2)
		if err != nil {
			return 0, err
		}
		if lost < least*(1-clearly) || math.IsInf(least, 1) {
			best, least, l.without = l2, lost, models
		}
	}
	return best, nil
}

// leaveOut learns without each part of the queries, and returns what is lost on
// these.
func (l *lesson) leaveOut(ctx context.Context, groups [][]fusion.Group, l2 float64) (models []fusion.Model, lost float64, err error) {
	for part := range min(parts, len(groups)) {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		var train, held []fusion.Group
		for i, list := range groups {
			if i%parts == part {
				held = append(held, list...)
			} else {
				train = append(train, list...)
			}
		}
		m, err := fusion.TrainGroups(l.base, train, l.cfg.learn(l2))
		if err != nil {
			return nil, 0, err
		}
		models = append(models, m)
		for i := range held {
			lost += m.GroupLoss(&held[i])
		}
	}
	return models, lost, nil
}

// pays reports whether corrections rank the queries that they were not learned from
// better than what they correct. To lose less is not enough: that can be had by other
// margins between the same ranks. Where they do not, base stands for them.
func (l *lesson) pays() bool {
	corrected, _ := l.leftOut(l.without)
	base, _ := l.leftOut(l.uncorrected())
	if corrected <= base {
		l.without = l.uncorrected()
	}
	return corrected > base
}

// uncorrected is what is learned where nothing is.
func (l *lesson) uncorrected() []fusion.Model { return slices.Repeat([]fusion.Model{l.base}, parts) }

// leftOut is how well queries rank by the models of the parts that they belong to, the
// sum of NDCG@10, and how many there are of which something is relevant.
func (l *lesson) leftOut(models []fusion.Model) (ndcg float64, queries int) {
	for i := range l.samples {
		if s := &l.samples[i]; labelled(s) {
			ndcg += quality(s, &models[i%parts], l.known(s))
			queries++
		}
	}
	return ndcg, queries
}

// enough is how many queries show that use does harm: what few ask for is bound to
// have been used for nothing else.
const enough = 50

// useHarms reports whether queries rank worse by base with the use of tools for the
// others than without: where every query wants what nobody wanted before, what was used
// only stands in its way.
func (l *lesson) useHarms() bool {
	unused := *l
	unused.counts = nil
	with, queries := l.leftOut(l.uncorrected())
	without, _ := unused.leftOut(l.uncorrected())
	return queries >= enough && with < without
}

// labelled reports whether there is something to learn from a query.
func labelled(s *evaluation.Sample) bool {
	return slices.ContainsFunc(s.Relevance, func(x float64) bool { return x > 0 })
}

// quality is the NDCG@10 of a query, as a model ranks its candidates.
func quality(s *evaluation.Sample, m *fusion.Model, known ranking.Known) float64 {
	var ranked []evaluation.Ranked
	for _, r := range ranking.Rank(s.Candidates, m, known) {
		ranked = append(ranked, evaluation.Ranked{ID: r.ID, Score: r.Score})
	}
	return evaluation.JudgeTools(s.Query.Labels).Score(ranked).Metrics.Of("ndcg@10")
}
