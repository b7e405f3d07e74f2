package fusion

import (
	"errors"
	"math"
	"math/rand/v2"
)

// LearnConfig tunes learning.
type LearnConfig struct {
	Rate   float64 // Adam's learning rate
	L2     float64 // price of a squared unit of correction
	Batch  int     // groups per step
	Epochs int     // passes over the groups
	Seed   uint64  // order of the groups
}

// clipAt bounds the length of the gradient of one step.
const clipAt = 10

// Magnitude is the size of a clear difference between two candidates by kind of feature: some
// ten units of raw BM25, a quarter of a cosine, e-fold use, half of a front runner's uses, half
// of the best score, and a tenth of it for supplied parameters. Learning moves a weight in units
// of the inverse, so that a step and a unit of regularisation mean the same for all weights.
func Magnitude(f Feature) float64 {
	switch {
	case f == UsagePrior:
		return 1
	case f == RelatedSupply:
		return 0.1
	case f == RelatedOwner, f == UsageCoUse:
		return 0.5
	case f.Dense(), f == UsageSimilar:
		return 0.25
	}
	return 10
}

// The positions behind the corrections in params.
const (
	gain      = int(FeatureCount) + iota // factor on the base model's weights, not regularised
	threshold                            // tau
	rawReq                               // softplus inverse of w_req
	rawOpt                               // softplus inverse of w_opt
	paramCount
)

// params are a model relative to its base: a correction per feature in units of
// 1/magnitude, a factor on the base's weights, and the penalty's parameters.
type params [paramCount]float64

// Train learns a regularised correction of base from groups, by Adam, and returns the
// model; its version is still that of base. The same arguments give the same model, bit by
// bit. Its rate falls evenly to 0, so that the last groups count no more than the others.
// Train fails if a step is not finite.
func Train(base Model, groups []Group, cfg LearnConfig) (Model, error) {
	if len(groups) == 0 {
		return base, nil
	}
	t := trainer{base: base, cfg: cfg}
	p, optimizer := t.origin(), adam{}
	rng := rand.New(rand.NewPCG(cfg.Seed, uint64(len(groups))))
	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	learned, all := 0, float64(cfg.Epochs*len(groups))
	for range cfg.Epochs {
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for start := 0; start < len(order); start += cfg.Batch {
			batch := order[start:min(start+cfg.Batch, len(order))]
			rate := cfg.Rate * (1 - float64(learned)/all)
			p = optimizer.step(p, t.gradient(&p, groups, batch), rate)
			p.bound()
			if !p.finite() {
				return base, errors.New("train: a step was not finite")
			}
			learned += len(batch)
		}
	}
	return t.model(&p), nil
}

// trainer computes gradients relative to a base model.
type trainer struct {
	base Model
	cfg  LearnConfig
}

// origin returns the parameters of the base itself.
func (t *trainer) origin() (p params) {
	p[gain] = 1
	p[threshold] = t.base.Tau
	p[rawReq] = softplusInverse(t.base.Required)
	p[rawOpt] = softplusInverse(t.base.Optional)
	return p
}

func (t *trainer) model(p *params) Model {
	m := t.base
	for i := range m.Features {
		m.Features[i] = p[gain]*t.base.Features[i] + p[i]/Magnitude(Feature(i))
	}
	m.Tau = p[threshold]
	m.Required = softplus(p[rawReq])
	m.Optional = softplus(p[rawOpt])
	return m
}

// gradient returns the gradient, by parameter, of the mean loss of a batch of the groups
// plus the regularisation.
func (t *trainer) gradient(p *params, groups []Group, batch []int) (grad params) {
	m := t.model(p)
	var g gradient
	for _, i := range batch {
		m.addGradient(&g, &groups[i], 1/float64(len(batch)))
	}
	for i, x := range g.features {
		grad[i] = x / Magnitude(Feature(i))
		grad[gain] += x * t.base.Features[i]
	}
	grad[threshold] = g.tau
	// The derivative of price = softplus(x) by x is 1 - exp(-price).
	grad[rawReq] = g.required * -math.Expm1(-m.Required)
	grad[rawOpt] = g.optional * -math.Expm1(-m.Optional)
	origin := t.origin()
	for i := range grad {
		if i != gain {
			grad[i] += 2 * t.cfg.L2 * (p[i] - origin[i])
		}
	}
	grad.clip(clipAt)
	return grad
}

// bound keeps the parameters where the model means something: tau in [0, 1], the base
// neither drowned nor inverted, no price that vanishes or explodes.
func (p *params) bound() {
	p[gain] = min(max(p[gain], 0.1), 10)
	p[threshold] = min(max(p[threshold], 0), 1)
	p[rawReq] = min(max(p[rawReq], -20), 1000)
	p[rawOpt] = min(max(p[rawOpt], -20), 1000)
}

func (p *params) finite() bool {
	var sum float64
	for _, x := range p {
		sum += x * 0 // NaN for NaN and infinities
	}
	return sum == 0
}

// clip shortens a gradient to at most length limit.
func (p *params) clip(limit float64) {
	var largest, sum float64
	for _, x := range p {
		largest = max(largest, math.Abs(x))
	}
	if largest == 0 || math.IsInf(largest, 0) {
		return
	}
	for _, x := range p {
		sum += (x / largest) * (x / largest)
	}
	if length := math.Sqrt(sum); length > limit/largest {
		for i := range p {
			p[i] = p[i] / largest / length * limit
		}
	}
}

// adam is the state of the optimiser of Kingma and Ba 2014 (arXiv 1412.6980): the running
// mean of the gradient and of its square.
type adam struct {
	steps        int
	mean, square params
}

// The decay rates and the guard against division by 0, as published.
const (
	adamMean   = 0.9
	adamSquare = 0.999
	adamGuard  = 1e-8
)

// step returns p after one step against grad.
func (a *adam) step(p, grad params, rate float64) params {
	a.steps++
	meanScale := 1 - math.Pow(adamMean, float64(a.steps))
	squareScale := 1 - math.Pow(adamSquare, float64(a.steps))
	for i, g := range grad {
		a.mean[i] = adamMean*a.mean[i] + (1-adamMean)*g
		a.square[i] = adamSquare*a.square[i] + (1-adamSquare)*g*g
		p[i] -= rate * (a.mean[i] / meanScale) / (math.Sqrt(a.square[i]/squareScale) + adamGuard)
	}
	return p
}
