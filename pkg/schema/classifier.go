package schema

import "fmt"

// MaxSignals bounds the signals of a search, for the memory of those who read
// them.
const MaxSignals = 64

// maxSignal bounds the value of a signal.
const maxSignal = 1e6

// Classifier tells whether one owner answers a query: a logistic regression on
// the signals of a search, in the order of package rerank, each less its mean and
// in units of its spread.
type Classifier struct {
	Mean     []float64 `json:"mean"`
	Spread   []float64 `json:"spread"` // above 0
	Weights  []float64 `json:"weights"`
	Bias     float64   `json:"bias"`
	Examples int       `json:"examples"` // searches that it was learned from
}

func (c *Classifier) validate(path string) error {
	n := len(c.Weights)
	if n == 0 || n > MaxSignals || len(c.Mean) != n || len(c.Spread) != n {
		return invalid(path, n, "must have as many means, spreads and weights, 1 to %d", MaxSignals)
	}
	for i := range n {
		for name, x := range map[string]float64{"mean": c.Mean[i], "spread": c.Spread[i], "weights": c.Weights[i]} {
			if err := checkNumber(fmt.Sprintf("%s/%s/%d", path, name, i), x, -MaxWeight); err != nil {
				return err
			}
		}
		if c.Spread[i] <= 0 {
			return invalid(fmt.Sprintf("%s/spread/%d", path, i), c.Spread[i], "must be above 0")
		}
	}
	return checkNumber(path+"/bias", c.Bias, -MaxWeight)
}

// CheckSignals refuses what can not have been read off a search. None is fine.
func CheckSignals(signals []float64) error {
	if err := checkCount("/signals", len(signals), MaxSignals); err != nil {
		return err
	}
	for i, x := range signals {
		if !(x >= -maxSignal && x <= maxSignal) {
			return invalid(fmt.Sprintf("/signals/%d", i), x, "must be a number between -%v and %v", maxSignal, maxSignal)
		}
	}
	return nil
}
