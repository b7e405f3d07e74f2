package fusion

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Group says that one candidate for a query was a better answer than each of
// several others. The others may be shared with further groups.
type Group struct {
	Better Example
	Worse  []Example
}

// negligible is the share of a group's loss below which one of the worse
// candidates is passed over.
const negligible = 1e-6

// GroupLoss returns log(1 + sum over the worse of exp(-(S+ - S-))): the pairwise
// loss where there is one of them, and where there are more, one in which those
// that rank highest count most (the softmax cross-entropy of ListNet, Cao et al.
// 2007, for one right answer).
func (m *Model) GroupLoss(g *Group) float64 {
	rise, _ := m.rise(g, make([]float64, len(g.Worse)))
	return softplus(rise)
}

// rise returns log of the sum of exp(S- - S+), and in scores the share that each
// of the worse has in that sum.
func (m *Model) rise(g *Group, scores []float64) (float64, []float64) {
	top := math.Inf(-1)
	for i := range g.Worse {
		scores[i], _ = m.Score(&g.Worse[i].Features, g.Worse[i].Matches)
		top = max(top, scores[i])
	}
	var sum float64
	for i := range scores {
		scores[i] = math.Exp(scores[i] - top)
		sum += scores[i]
	}
	for i := range scores {
		scores[i] /= sum
	}
	better, _ := m.Score(&g.Better.Features, g.Better.Matches)
	return finite(top - better + math.Log(sum)), scores
}

// AddGroupGradient adds scale times the gradient of the group's loss to grad
// and returns the loss. A group without worse candidates has none.
func (m *Model) AddGroupGradient(grad *Gradient, g *Group, scale float64) float64 {
	if len(g.Worse) == 0 {
		return 0
	}
	rise, shares := m.rise(g, make([]float64, len(g.Worse)))
	slope := scale / (1 + math.Exp(-rise)) // dLoss/drise
	m.addScore(grad, &g.Better.Features, g.Better.Matches, -slope)
	for i, share := range shares {
		if share > negligible {
			m.addScore(grad, &g.Worse[i].Features, g.Worse[i].Matches, slope*share)
		}
	}
	return softplus(rise)
}

// addScore adds slope times the gradient of one candidate's score.
func (m *Model) addScore(grad *Gradient, f *Features, matches []schema.Match, slope float64) {
	for i, x := range f {
		grad.Features[i] += slope * x
	}
	missing := m.gates(matches)
	grad.Required -= slope * missing.required
	grad.Optional -= slope * missing.optional
	grad.Tau -= slope * m.Alpha * (m.Required*missing.requiredSlope + m.Optional*missing.optionalSlope)
}

// TrainGroups is Train for groups: cfg.Batch is groups a step.
func TrainGroups(base Model, groups []Group, cfg LearnConfig) (Model, error) {
	l := NewLearner(base, cfg)
	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	err := l.epochs(len(groups), func(rng *rand.Rand) {
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}, func(start, end int) {
		l.step(end-start, func(m *Model, g *Gradient) (loss float64) {
			for _, i := range order[start:end] {
				loss += m.AddGroupGradient(g, &groups[i], 1/float64(end-start))
			}
			return loss / float64(end-start)
		})
	})
	if err != nil {
		return base, err
	}
	return l.Model(), nil
}

// epochs runs over n examples as often as the configuration says, in batches.
// Unless learning is Free the rate falls evenly to 0.
func (l *Learner) epochs(n int, shuffle func(*rand.Rand), step func(start, end int)) error {
	rng := rand.New(rand.NewPCG(l.cfg.Seed, uint64(n)))
	rate, all := l.cfg.Rate, float64(l.cfg.Epochs*n)
	for range l.cfg.Epochs {
		shuffle(rng)
		for start := 0; start < n; start += l.cfg.Batch {
			if !l.cfg.Free {
				l.cfg.Rate = rate * (1 - float64(l.state.Pairs)/all)
			}
			step(start, min(start+l.cfg.Batch, n))
		}
	}
	if l.state.Pairs != l.cfg.Epochs*n {
		return errors.New("train: a step was not finite")
	}
	return nil
}
