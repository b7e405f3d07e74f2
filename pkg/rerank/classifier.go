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

// What it takes to learn.
const (
	fewest  = 10   // examples of either kind
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
	c.fit(examples)
	return c, true
}

// Loss returns the mean logistic loss of the classifier on examples, at most
// that of a millionth for each: log(2) for one that knows nothing.
func (c *Classifier) Loss(examples []Example) (loss float64) {
	for i := range examples {
		p := c.Probability(examples[i].Signals)
		if !examples[i].Single {
			p = 1 - p
		}
		loss -= math.Log(max(p, leastChance)) / float64(len(examples))
	}
	return loss
}

const leastChance = 1e-6

// folds is how many parts of the examples are predicted from the others.
const folds = 5

// Proven returns what the examples teach, and whether to trust it: where they are
// predicted better, each fifth of them by what the others teach, than by the
// classifier that is there.
func Proven(examples []Example, now Classifier) (Classifier, bool) {
	learned, ok := Learn(examples)
	if !ok {
		return now, false
	}
	var gain float64
	for fold := range folds {
		var train, test []Example
		for i := range examples {
			if i%folds == fold {
				test = append(test, examples[i])
			} else {
				train = append(train, examples[i])
			}
		}
		c, ok := Learn(train)
		if !ok {
			return now, false
		}
		gain += float64(len(test)) * (now.Loss(test) - c.Loss(test))
	}
	return learned, gain > 0
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
