package fusion

import "math"

// Adam is the state of the optimiser of Kingma and Ba 2014 (arXiv 1412.6980):
// the running mean of the gradient and of its square.
type Adam struct {
	Steps  int    `json:"steps"`
	Mean   Params `json:"mean"`
	Square Params `json:"square"`
}

// The decay rates and the guard against division by 0, as published.
const (
	adamMean   = 0.9
	adamSquare = 0.999
	adamGuard  = 1e-8
)

// Step returns p after one step against grad, and advances the state.
func (a *Adam) Step(p, grad Params, rate float64) Params {
	a.Steps++
	meanScale := 1 - math.Pow(adamMean, float64(a.Steps))
	squareScale := 1 - math.Pow(adamSquare, float64(a.Steps))
	for i, g := range grad {
		a.Mean[i] = adamMean*a.Mean[i] + (1-adamMean)*g
		a.Square[i] = adamSquare*a.Square[i] + (1-adamSquare)*g*g
		p[i] -= rate * (a.Mean[i] / meanScale) / (math.Sqrt(a.Square[i]/squareScale) + adamGuard)
	}
	return p
}
