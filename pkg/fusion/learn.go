package fusion

import (
	"errors"
	"math"
	"math/rand/v2"
)

// Magnitude is what a clear difference of two candidates amounts to, by kind
// of feature: some ten units of raw BM25, a quarter of a cosine, e-fold use, half
// of a front runner's uses, half of the best score, a tenth of it for what is
// supplied.
// Learning moves a weight in units of its inverse, so that one step and one
// unit of regularisation mean the same for all of them.
func Magnitude(f Feature) float64 {
	switch {
	case f == UsagePrior:
		return 1
	case f == RelatedSupply:
		return 0.1
	case f.Related():
		return 0.5
	case f.Dense(), f == UsageSimilar:
		return 0.25
	}
	return 10
}

// The positions behind the corrections in Params.
const (
	gain       = int(FeatureCount) + iota // factor on the base model's weights, not regularised
	threshold                             // tau
	rawReq                                // softplus inverse of w_req
	rawOpt                                // softplus inverse of w_opt
	ParamCount                            // how many parameters are learned
)

// Params are a model relative to its base: a correction per feature in units of
// 1/magnitude, a factor on the base's weights, and the penalty's parameters.
type Params [ParamCount]float64

// LearnConfig tunes learning. The zero value is replaced by
// DefaultLearnConfig, field by field.
type LearnConfig struct {
	Rate   float64 // Adam's learning rate
	L2     float64 // price of a squared unit of correction
	Batch  int     // pairs per step
	Epochs int     // passes of Train
	Clip   float64 // bound on the length of one step's gradient
	Seed   uint64  // order of the pairs in Train

	// Free learns the weights themselves instead of a correction: each in its
	// own unit, from where the base has it, without regularisation or bound on
	// a step. That is the setting of arXiv 2602.05366, on its four features; L2
	// and Clip say nothing then.
	Free bool
}

// DefaultLearnConfig returns the setting of arXiv 2602.05366 (rate 0.1, batch
// 256, 5 epochs) with the regularisation that never fell clearly below the
// built-in weights.
func DefaultLearnConfig() LearnConfig {
	return LearnConfig{Rate: 0.1, L2: 0.01, Batch: 256, Epochs: 5, Clip: 10}
}

func (c LearnConfig) withDefaults() LearnConfig {
	d := DefaultLearnConfig()
	if c.Rate <= 0 {
		c.Rate = d.Rate
	}
	if c.L2 <= 0 {
		c.L2 = d.L2
	}
	if c.Free {
		c.L2 = 0
	}
	if c.Batch <= 0 {
		c.Batch = d.Batch
	}
	if c.Epochs <= 0 {
		c.Epochs = d.Epochs
	}
	if c.Clip <= 0 {
		c.Clip = d.Clip
	}
	return c
}

// Learner learns a regularised correction of a base model from pairs. Its State
// can be stored and resumed; a learner is not safe for concurrent use.
type Learner struct {
	base  Model
	cfg   LearnConfig
	state LearnState
}

// LearnState is all that a learner knows beside its base model.
type LearnState struct {
	Params   Params `json:"params"`
	Adam     Adam   `json:"adam"`
	Pairs    int    `json:"pairs"`              // learned from so far
	Features int    `json:"features,omitempty"` // FeatureCount of the program; others can not go on from it
}

// NewLearner returns a learner that has learned nothing: its model is base.
func NewLearner(base Model, cfg LearnConfig) *Learner {
	l := &Learner{base: base, cfg: cfg.withDefaults()}
	l.state.Params = l.origin()
	return l
}

// ErrOtherFeatures is the error for state of a program that knows other features: its
// parameters mean something else.
var ErrOtherFeatures = errors.New("learner state of other features")

// ResumeLearner returns a learner that goes on from state. State that is not
// finite is an error, and so is ErrOtherFeatures.
func ResumeLearner(base Model, cfg LearnConfig, state LearnState) (*Learner, error) {
	if !state.finite() {
		return nil, errors.New("learner state holds a number that is not finite")
	}
	if state.Features != 0 && state.Features != int(FeatureCount) {
		return nil, ErrOtherFeatures
	}
	return &Learner{base: base, cfg: cfg.withDefaults(), state: state}, nil
}

// Restart makes m the model from which learning goes on. The base, and with it
// what regularisation pulls towards, stays as it is.
func (l *Learner) Restart(m Model) {
	p := l.origin()
	for i, w := range m.Features {
		p[i] = (w - l.base.Features[i]) * l.unit(Feature(i))
	}
	p[threshold] = m.Tau
	p[rawReq] = softplusInverse(m.Required)
	p[rawOpt] = softplusInverse(m.Optional)
	p.bound()
	l.state.Params, l.state.Adam = p, Adam{}
}

// State returns what ResumeLearner takes.
func (l *Learner) State() LearnState {
	state := l.state
	state.Features = int(FeatureCount)
	return state
}

// Model returns the model as learned so far. Its version is still the base's.
func (l *Learner) Model() Model {
	if l.state.Params == l.origin() {
		return l.base // exactly, without the rounding of softplus and its inverse
	}
	return l.modelOf(&l.state.Params)
}

// unit is what a feature's correction is measured in the inverse of.
func (l *Learner) unit(f Feature) float64 {
	if l.cfg.Free {
		return 1
	}
	return Magnitude(f)
}

// origin returns the parameters that stand for the base itself.
func (l *Learner) origin() Params {
	var p Params
	p[gain] = 1
	p[threshold] = l.base.Tau
	p[rawReq] = softplusInverse(l.base.Required)
	p[rawOpt] = softplusInverse(l.base.Optional)
	return p
}

func (l *Learner) modelOf(p *Params) Model {
	m := l.base
	for i := range m.Features {
		m.Features[i] = p[gain]*l.base.Features[i] + p[i]/l.unit(Feature(i))
	}
	m.Tau = p[threshold]
	m.Required = softplus(p[rawReq])
	m.Optional = softplus(p[rawOpt])
	return m
}

// Step takes one Adam step on the mean loss of batch and returns that loss, as
// it was before the step. A step whose outcome would not be finite is not
// taken. An empty batch does nothing.
func (l *Learner) Step(batch []Pair) float64 {
	if len(batch) == 0 {
		return 0
	}
	return l.step(len(batch), func(m *Model, g *Gradient) (loss float64) {
		for i := range batch {
			loss += (m.AddGradient(g, &batch[i], 1/float64(len(batch))) - loss) / float64(i+1)
		}
		return loss
	})
}

// step takes one Adam step on n examples; derive adds the gradient of their mean
// loss and returns that loss.
func (l *Learner) step(n int, derive func(*Model, *Gradient) float64) float64 {
	loss, grad := l.gradient(&l.state.Params, derive)
	if !l.cfg.Free {
		clip(&grad, l.cfg.Clip)
	}
	next := l.state
	next.Params = next.Adam.Step(next.Params, grad, l.cfg.Rate)
	next.Params.bound()
	next.Pairs += n
	if next.finite() {
		l.state = next
	}
	return loss
}

// gradient returns the loss and the gradient of that loss plus the
// regularisation, by parameter.
func (l *Learner) gradient(p *Params, derive func(*Model, *Gradient) float64) (float64, Params) {
	m := l.modelOf(p)
	var g Gradient
	loss := derive(&m, &g)
	var grad Params
	for i, x := range g.Features {
		grad[i] = x/l.unit(Feature(i)) + 2*l.cfg.L2*p[i]
		grad[gain] += x * l.base.Features[i]
	}
	if l.cfg.Free {
		grad[gain] = 0
	}
	origin := l.origin()
	grad[threshold] = g.Tau
	// The derivative of price = softplus(x) by x is 1 - exp(-price).
	grad[rawReq] = g.Required * -math.Expm1(-m.Required)
	grad[rawOpt] = g.Optional * -math.Expm1(-m.Optional)
	for i := threshold; i < ParamCount; i++ {
		grad[i] += 2 * l.cfg.L2 * (p[i] - origin[i])
	}
	return loss, grad
}

// Train learns from pairs in cfg.Epochs passes and returns the model. The same
// arguments give the same model, bit by bit. The pairs are not changed. Unless
// learning is Free its rate falls evenly to 0, so that the last pairs count no
// more than the others.
func Train(base Model, pairs []Pair, cfg LearnConfig) (Model, error) {
	l := NewLearner(base, cfg)
	order := make([]Pair, len(pairs))
	copy(order, pairs)
	err := l.epochs(len(order), func(rng *rand.Rand) {
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}, func(start, end int) { l.Step(order[start:end]) })
	if err != nil {
		return base, err
	}
	return l.Model(), nil
}

// bound keeps the parameters where the model means something: tau in [0, 1],
// the base neither drowned nor inverted, no price that vanishes or explodes.
func (p *Params) bound() {
	p[gain] = min(max(p[gain], 0.1), 10)
	p[threshold] = min(max(p[threshold], 0), 1)
	p[rawReq] = min(max(p[rawReq], -20), 1000)
	p[rawOpt] = min(max(p[rawOpt], -20), 1000)
}

// clip shortens a gradient to at most length limit.
func clip(g *Params, limit float64) {
	var largest float64
	for _, x := range g {
		largest = max(largest, math.Abs(x))
	}
	if largest == 0 || math.IsInf(largest, 0) || math.IsNaN(largest) {
		return
	}
	var sum float64
	for _, x := range g {
		sum += (x / largest) * (x / largest)
	}
	if length := math.Sqrt(sum); length > limit/largest {
		for i := range g {
			g[i] = g[i] / largest / length * limit
		}
	}
}

func (s *LearnState) finite() bool {
	for _, list := range [...]*Params{&s.Params, &s.Adam.Mean, &s.Adam.Square} {
		for _, x := range list {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return false
			}
		}
	}
	return s.Adam.Steps >= 0 && s.Pairs >= 0
}
