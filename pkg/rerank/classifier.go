package rerank

import "math"

// Classifier tells whether one owner answers a query: a logistic regression on
// the signals, each less its mean and in units of its spread.
type Classifier struct {
	Mean, Spread, Weights Signals
	Bias                  float64
}

// ColdStart returns the classifier for registries without labels. It asks how
// much of the first ten tools' scores the first owner has and how well its
// second tool does, and a little more where a query has many needs.
func ColdStart() Classifier {
	c := Classifier{Bias: -4.7}
	for i := range c.Spread {
		c.Spread[i] = 1
	}
	c.Weights[Mass], c.Weights[Sibling], c.Weights[Needs] = 8, 4, -0.1
	return c
}

// Probability returns the probability that one owner answers the query.
func (c *Classifier) Probability(s Signals) float64 {
	sum := c.Bias
	for i, x := range s {
		sum += c.Weights[i] * (x - c.Mean[i]) / c.Spread[i]
	}
	return 1 / (1 + math.Exp(-sum))
}

// Example is a query of which it is known whether one owner answers it.
type Example struct {
	Signals Signals
	Single  bool
}

// Gradient descent on at most SignalCount standardised signals converges with
// this step, far below two over the largest curvature, within these rounds.
const (
	rounds  = 3000
	step    = 0.2
	ridge   = 2 // weight of half the squared weights, beside one per example
	fewest  = 10
	nothing = 1e-9 // spread below which a signal is constant
)

// Learn returns the classifier that the examples teach, and false where they do
// not teach any: fewer than ten of either kind.
func Learn(examples []Example) (Classifier, bool) {
	single := 0
	for i := range examples {
		if examples[i].Single {
			single++
		}
	}
	if single < fewest || len(examples)-single < fewest {
		return Classifier{}, false
	}
	c := standardised(examples)
	for range rounds {
		c.descend(examples)
	}
	return c, true
}

// standardised returns a classifier without weights that knows means and
// spreads.
func standardised(examples []Example) Classifier {
	var c Classifier
	n := float64(len(examples))
	for i := range c.Mean {
		for _, e := range examples {
			c.Mean[i] += e.Signals[i] / n
		}
		var variance float64
		for _, e := range examples {
			variance += (e.Signals[i] - c.Mean[i]) * (e.Signals[i] - c.Mean[i]) / n
		}
		if c.Spread[i] = math.Sqrt(variance); c.Spread[i] < nothing {
			c.Spread[i] = 1
		}
	}
	return c
}

func (c *Classifier) descend(examples []Example) {
	var gradient Signals
	var bias float64
	n := float64(len(examples))
	for i := range examples {
		wrong := c.Probability(examples[i].Signals)
		if examples[i].Single {
			wrong--
		}
		bias += wrong / n
		for j, x := range examples[i].Signals {
			gradient[j] += wrong * (x - c.Mean[j]) / c.Spread[j] / n
		}
	}
	c.Bias -= step * bias
	for j := range gradient {
		c.Weights[j] -= step * (gradient[j] + ridge*c.Weights[j]/n)
	}
}
