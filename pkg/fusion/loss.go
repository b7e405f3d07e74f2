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

// Loss returns log(1 + sum over the worse of exp(-(S+ - S-))): the pairwise logistic loss
// where there is one of them, and where there are more, the softmax cross-entropy of
// ListNet (Cao et al. 2007) for one right answer. It is finite for every finite input,
// and 0 for a group without worse candidates.
func (m *Model) Loss(g *Group) float64 {
	if len(g.Worse) == 0 {
		return 0
	}
	rise, _ := m.rise(g)
	return softplus(rise)
}

// rise returns the log of the sum of exp(S- - S+) and the share of each of the worse in
// that sum.
func (m *Model) rise(g *Group) (float64, []float64) {
	scores := make([]float64, len(g.Worse))
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
	rise, shares := m.rise(g)
	slope := scale / (1 + math.Exp(-rise)) // dLoss/drise
	m.addScore(grad, &g.Better, -slope)
	for i, share := range shares {
		if share > negligible {
			m.addScore(grad, &g.Worse[i], slope*share)
		}
	}
}

// addScore adds slope times the gradient of one candidate's score.
func (m *Model) addScore(grad *gradient, e *Example, slope float64) {
	for i, x := range e.Features {
		grad.features[i] += slope * x
	}
	for _, match := range e.Matches {
		gate, price := Gate(m.Alpha, m.Tau, match.Score), m.Optional
		if match.Required {
			grad.required -= slope * gate
			price = m.Required
		} else {
			grad.optional -= slope * gate
		}
		grad.tau -= slope * m.Alpha * price * gate * (1 - gate)
	}
}

// softplus returns log(1+exp(x)) without overflow.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// softplusInverse returns the x with softplus(x) = y, for y > 0.
func softplusInverse(y float64) float64 { return y + math.Log(-math.Expm1(-y)) }
