package fusion

import (
	"math"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Example is one candidate as it was ranked.
type Example struct {
	Features Features       `json:"f"`
	Matches  []schema.Match `json:"m,omitempty"`
}

// Pair says that of two candidates for the same query one was the better
// answer.
type Pair struct {
	Better Example `json:"better"`
	Worse  Example `json:"worse"`
}

// Gradient is the derivative of a loss. The prices of missing parameters are
// softplus(x) of an unbounded x, which keeps them positive; their derivatives
// are with respect to x.
type Gradient struct {
	Features Features
	Tau      float64
	Required float64
	Optional float64
}

// Loss returns log(1 + exp(-(S+ - S-))), the pairwise logistic loss. It is
// finite for every finite input.
func (m *Model) Loss(p *Pair) float64 {
	return softplus(-m.margin(p))
}

// margin returns S+ - S-.
func (m *Model) margin(p *Pair) float64 {
	better, _ := m.Score(&p.Better.Features, p.Better.Matches)
	worse, _ := m.Score(&p.Worse.Features, p.Worse.Matches)
	return finite(better - worse)
}

// AddGradient adds scale times the gradient of the pair's loss to g and returns
// the loss.
func (m *Model) AddGradient(g *Gradient, p *Pair, scale float64) float64 {
	margin := m.margin(p)
	slope := -scale * sigmoid(-margin) // dLoss/dmargin
	for i := range g.Features {
		g.Features[i] += slope * finite(p.Better.Features[i]-p.Worse.Features[i])
	}
	m.addPenalty(g, p.Better.Matches, -slope)
	m.addPenalty(g, p.Worse.Matches, slope)
	return softplus(-margin)
}

// addPenalty adds slope times the gradient of the penalty of matches.
func (m *Model) addPenalty(g *Gradient, matches []schema.Match, slope float64) {
	for _, match := range matches {
		gate := Gate(m.Alpha, m.Tau, match.Score)
		price, raw := m.Optional, &g.Optional
		if match.Required {
			price, raw = m.Required, &g.Required
		}
		*raw += slope * gate * -math.Expm1(-price) // softplus'(x) = 1 - exp(-softplus(x))
		g.Tau += slope * price * m.Alpha * gate * (1 - gate)
	}
}

// sigmoid returns 1/(1+exp(-x)).
func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// softplus returns log(1+exp(x)) without overflow.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// softplusInverse returns the x with softplus(x) = y, for y > 0.
func softplusInverse(y float64) float64 { return y + math.Log(-math.Expm1(-y)) }
