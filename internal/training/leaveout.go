package training

import (
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
// that they were not learned from, and these models, by the part left out.
func (l *lesson) chooseL2(groups [][]fusion.Group) (best float64, without []fusion.Model, err error) {
	least := math.Inf(1)
	for _, l2 := range l.cfg.L2 {
		models, lost, err := l.leaveOut(groups, l2)
		if err != nil {
			return 0, nil, err
		}
		if lost < least*(1-clearly) || math.IsInf(least, 1) {
			best, least, without = l2, lost, models
		}
	}
	return best, without, nil
}

// leaveOut learns without each part of the queries, and returns what is lost on
// these.
func (l *lesson) leaveOut(groups [][]fusion.Group, l2 float64) (models []fusion.Model, lost float64, err error) {
	for part := range min(parts, len(groups)) {
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
// better than what they correct, by the mean of NDCG@10. To lose less is not enough:
// that can be had by other margins between the same ranks.
func (l *lesson) pays(without []fusion.Model) bool {
	var gain float64
	for i := range l.samples {
		s := &l.samples[i]
		if slices.ContainsFunc(s.Relevance, func(x float64) bool { return x > 0 }) {
			gain += l.quality(s, &without[i%parts]) - l.quality(s, &l.base)
		}
	}
	return gain > 0
}

// quality is the NDCG@10 of a query, as a model ranks its candidates.
func (l *lesson) quality(s *evaluation.Sample, m *fusion.Model) float64 {
	var ranked []evaluation.Ranked
	for _, r := range ranking.Rank(s.Candidates, m, l.known(s)) {
		ranked = append(ranked, evaluation.Ranked{ID: r.ID, Score: r.Score})
	}
	return evaluation.JudgeTools(s.Query.Labels).Score(ranked).Metrics.Of("ndcg@10")
}
