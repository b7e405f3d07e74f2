package fusion

import (
	"math"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Example is one candidate as it was ranked.
type Example struct {
	Features Features
	Matches  []schema.Match
}

// Group says that one candidate for a query was a better answer than each of several
// others. The others may be shared with further groups.
type Group struct {
	Better Example
	Worse  []Example
}

// Loss returns log(1 + sum over the worse of exp(-(S+ - S-))): the pairwise logistic loss for
// one worse candidate, and the softmax cross-entropy of ListNet (Cao et al. 2007) for one right
// answer among several. It is finite for every finite input,
// and 0 for a group without worse candidates.
func (m *Model) Loss(g *Group) float64 {
	if len(g.Worse) == 0 {
		return 0
	}
	rise, _ := m.rise(g, m.best(g))
	return softplus(rise)
}

// best is the candidate of a group that scores highest before anything is subtracted,
// which the unit of the penalty is of.
type best struct {
	*Example
	score, unit float64
}

func (m *Model) best(g *Group) best {
	b := best{Example: &g.Better, score: m.Linear(&g.Better.Features)}
	for i := range g.Worse {
		if score := m.Linear(&g.Worse[i].Features); score > b.score {
			b.Example, b.score = &g.Worse[i], score
		}
	}
	b.unit = m.Unit(b.score)
	return b
}

// rise returns the log of the sum of exp(S- - S+) and the share of each of the worse in
// that sum.
func (m *Model) rise(g *Group, b best) (float64, []float64) {
	scores := make([]float64, len(g.Worse))
	top := math.Inf(-1)
	for i := range g.Worse {
		scores[i], _ = m.Score(&g.Worse[i].Features, g.Worse[i].Matches, b.unit)
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
	better, _ := m.Score(&g.Better.Features, g.Better.Matches, b.unit)
	return finite(top - better + math.Log(sum)), scores
}

// gradient is the derivative of a loss by the numbers of a Model.
type gradient struct {
	features                Features
	tau, required, optional float64
}

// negligible is the share of a group's loss below which a worse candidate is passed over.
const negligible = 1e-6

// addGradient adds scale times the gradient of the group's loss.
func (m *Model) addGradient(grad *gradient, g *Group, scale float64) {
	if len(g.Worse) == 0 {
		return
	}
	b := m.best(g)
	rise, shares := m.rise(g, b)
	slope := scale / (1 + math.Exp(-rise)) // dLoss/drise
	m.addScore(grad, &g.Better, -slope, &b)
	for i, share := range shares {
		if share > negligible {
			m.addScore(grad, &g.Worse[i], slope*share, &b)
		}
	}
}

// addScore adds slope times the gradient of one candidate's score, in a group with this
// best one.
func (m *Model) addScore(grad *gradient, e *Example, slope float64, b *best) {
	for i, x := range e.Features {
		grad.features[i] = finite(grad.features[i] + slope*x)
	}
	for _, match := range e.Matches {
		gate, price := Gate(m.Alpha, m.Tau, match.Score), m.Optional
		if match.Required {
			grad.required = finite(grad.required - slope*gate*b.unit)
			price = m.Required
		} else {
			grad.optional = finite(grad.optional - slope*gate*b.unit)
		}
		grad.tau = finite(grad.tau - slope*m.Alpha*price*gate*(1-gate)*b.unit)
	}
	if m.Shares && b.score > 0 { // what the best gains, the penalty does
		lost := slope * m.Penalty(e.Matches, 1)
		for i, x := range b.Features {
			grad.features[i] = finite(grad.features[i] - lost*x)
		}
	}
}

// softplus returns log(1+exp(x)) without overflow.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// softplusInverse returns the x with softplus(x) = y, for y > 0.
func softplusInverse(y float64) float64 { return y + math.Log(-math.Expm1(-y)) }
