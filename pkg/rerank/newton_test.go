package rerank

import (
	"math"
	"testing"
)

// At the optimum no weight can be moved for less loss, however separable the
// examples are.
func TestLearnFindsTheOptimum(t *testing.T) {
	apart := drawn(60, 3)
	for i := range apart {
		apart[i].Single = apart[i].Signals[Sibling] > 0
	}
	for name, examples := range map[string][]Example{"noisy": drawn(200, 1), "separable": apart} {
		c, ok := Learn(examples)
		if !ok {
			t.Fatal(name)
		}
		least := regularised(&c, examples)
		for j := range c.Weights {
			for _, by := range []float64{-0.01, 0.01} {
				moved := c
				moved.Weights[j] += by
				if loss := regularised(&moved, examples); loss < least-1e-9 {
					t.Errorf("%s: weight %d by %v: %v instead of %v", name, j, by, loss, least)
				}
			}
		}
		for _, by := range []float64{-0.01, 0.01} {
			moved := c
			moved.Bias += by
			if loss := regularised(&moved, examples); loss < least-1e-9 {
				t.Errorf("%s: bias by %v: %v instead of %v", name, by, loss, least)
			}
		}
	}
}

func regularised(c *Classifier, examples []Example) float64 {
	var square float64
	for _, w := range c.Weights {
		square += w * w
	}
	return c.Loss(examples)*float64(len(examples)) + ridge*square/2
}

func TestProven(t *testing.T) {
	now := ColdStart()
	if c, ok := Proven(drawn(200, 1), now); !ok || c.Weights[Mass] <= 0 {
		t.Errorf("%v %v", c, ok)
	}
	learned, _ := Learn(drawn(300, 1))
	coins := drawn(100, 5)
	for i := range coins {
		coins[i].Single = learned.Probability(coins[i].Signals) >= 0.5
	}
	if _, ok := Proven(coins, learned); ok {
		t.Error("better than one that is always right")
	}
	if c, ok := Proven(drawn(24, 1), now); ok || c != now {
		t.Error("learned from eight examples of a kind")
	}
}

func TestLossOfKnowingNothing(t *testing.T) {
	c := Classifier{Spread: ColdStart().Spread}
	if got := c.Loss(drawn(9, 1)); math.Abs(got-math.Ln2) > 1e-12 {
		t.Errorf("%v", got)
	}
}
