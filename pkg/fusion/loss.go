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

// Gradient is the derivative of a loss, by the numbers of a Model.
type Gradient struct {
	Features Features
	Tau      float64
	Required float64
	Optional float64
}

// Loss returns log(1 + exp(-(S+ - S-))), the pairwise logistic loss. It is
// finite for every finite input.
func (m *Model) Loss(p *Pair) float64 {
	var features Features
	margin, _ := m.margin(&features, p)
	return softplus(-margin)
}

// margin returns S+ - S-, and what it is made of: the differences of the
// features, which it writes to features, and of the gates.
func (m *Model) margin(features *Features, p *Pair) (float64, gates) {
	var margin float64
	for i, w := range m.Features {
		features[i] = p.Better.Features[i] - p.Worse.Features[i]
		margin += w * features[i]
	}
	missing := m.gates(p.Better.Matches).minus(m.gates(p.Worse.Matches))
	margin -= m.Required*missing.required + m.Optional*missing.optional
	if math.IsNaN(margin) || math.IsInf(margin, 0) {
		return m.hugeMargin(features, p), missing
	}
	return margin, missing
}

// hugeMargin is margin where sums or differences exceed the range of float64.
func (m *Model) hugeMargin(features *Features, p *Pair) float64 {
	for i, x := range features {
		features[i] = finite(x)
	}
	better, _ := m.Score(&p.Better.Features, p.Better.Matches)
	worse, _ := m.Score(&p.Worse.Features, p.Worse.Matches)
	return finite(better - worse)
}

// AddGradient adds scale times the gradient of the pair's loss to g and returns
// the loss.
func (m *Model) AddGradient(g *Gradient, p *Pair, scale float64) float64 {
	var features Features
	margin, missing := m.margin(&features, p)
	tail := math.Exp(-math.Abs(margin))
	slope := -scale / (1 + tail) // dLoss/dmargin = -sigmoid(-margin)
	if margin > 0 {
		slope *= tail
	}
	for i, x := range features {
		g.Features[i] += slope * x
	}
	g.Required -= slope * missing.required
	g.Optional -= slope * missing.optional
	g.Tau -= slope * m.Alpha * (m.Required*missing.requiredSlope + m.Optional*missing.optionalSlope)
	return max(-margin, 0) + math.Log1p(tail)
}

// gates holds the sums of the gates of required and optional parameters, and of
// their slopes gate·(1 - gate).
type gates struct{ required, optional, requiredSlope, optionalSlope float64 }

func (m *Model) gates(matches []schema.Match) gates {
	var g gates
	for _, match := range matches {
		gate := Gate(m.Alpha, m.Tau, match.Score)
		if match.Required {
			g.required += gate
			g.requiredSlope += gate * (1 - gate)
		} else {
			g.optional += gate
			g.optionalSlope += gate * (1 - gate)
		}
	}
	return g
}

func (g gates) minus(o gates) gates {
	return gates{
		g.required - o.required, g.optional - o.optional,
		g.requiredSlope - o.requiredSlope, g.optionalSlope - o.optionalSlope,
	}
}

// softplus returns log(1+exp(x)) without overflow.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// softplusInverse returns the x with softplus(x) = y, for y > 0.
func softplusInverse(y float64) float64 { return y + math.Log(-math.Expm1(-y)) }
