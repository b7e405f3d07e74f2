package rerank

import "math"

// The optimum is found by Newton's method: the loss is convex, and a step that
// does not lower it is halved until it does.
const (
	rounds  = 50
	halves  = 20
	enough  = 1e-9 // length of a step below which the optimum is found
	ridge   = 2    // weight of half the squared weights, beside one per example
	numbers = int(SignalCount) + 1
	bias    = int(SignalCount) // place of the bias among the numbers
)

// point is a classifier's weights and its bias.
type point [numbers]float64

// fit sets the weights to those with the least logistic loss on the examples.
func (c *Classifier) fit(examples []Example) {
	xs := make([]point, len(examples))
	for i, e := range examples {
		for j, x := range e.Signals {
			xs[i][j] = (x - c.Mean[j]) / c.Spread[j]
		}
		xs[i][bias] = 1
	}
	var at point
	loss := lossAt(&at, xs, examples)
	for range rounds {
		step := newton(&at, xs, examples)
		next, least, ok := descend(at, step, loss, xs, examples)
		if !ok {
			break
		}
		at, loss = next, least
	}
	copy(c.Weights[:], at[:bias])
	c.Bias = at[bias]
}

// descend goes as far along a step as the loss falls.
func descend(from, step point, loss float64, xs []point, examples []Example) (point, float64, bool) {
	for range halves {
		var length float64
		to := from
		for i := range step {
			to[i] -= step[i]
			length = max(length, math.Abs(step[i]))
			step[i] /= 2
		}
		if length < enough {
			break
		}
		if l := lossAt(&to, xs, examples); l < loss {
			return to, l, true
		}
	}
	return from, loss, false
}

// sum is the logit of one example.
func (p *point) sum(x *point) (s float64) {
	for i := range p {
		s += p[i] * x[i]
	}
	return s
}

func lossAt(p *point, xs []point, examples []Example) (loss float64) {
	for i := range xs {
		s := p.sum(&xs[i])
		if examples[i].Single {
			s = -s
		}
		loss += max(0, s) + math.Log1p(math.Exp(-math.Abs(s)))
	}
	for _, w := range p[:bias] {
		loss += ridge * w * w / 2
	}
	return loss
}

// newton returns the Hessian's inverse times the gradient.
func newton(p *point, xs []point, examples []Example) point {
	var gradient point
	var hessian [numbers]point
	for i := range xs {
		x := &xs[i]
		q := 1 / (1 + math.Exp(-p.sum(x)))
		wrong := q
		if examples[i].Single {
			wrong--
		}
		for j := range x {
			gradient[j] += wrong * x[j]
			for k := range x[:j+1] {
				hessian[j][k] += q * (1 - q) * x[j] * x[k]
			}
		}
	}
	for j, w := range p[:bias] {
		gradient[j] += ridge * w
		hessian[j][j] += ridge
	}
	hessian[bias][bias] += enough // certain of every example, it would be 0
	return solve(&hessian, gradient)
}

// solve returns the solution of h x = g for a positive definite h, of which the
// lower half is given, by Cholesky's decomposition.
func solve(h *[numbers]point, g point) point {
	for j := range h {
		for k := range j + 1 {
			s := h[j][k]
			for i := range k {
				s -= h[j][i] * h[k][i]
			}
			if j == k {
				h[j][j] = math.Sqrt(max(s, enough))
			} else {
				h[j][k] = s / h[k][k]
			}
		}
	}
	for j := range g {
		for i := range j {
			g[j] -= h[j][i] * g[i]
		}
		g[j] /= h[j][j]
	}
	for j := numbers - 1; j >= 0; j-- {
		for i := j + 1; i < numbers; i++ {
			g[j] -= h[i][j] * g[i]
		}
		g[j] /= h[j][j]
	}
	return g
}
