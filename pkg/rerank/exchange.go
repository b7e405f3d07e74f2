package rerank

import (
	"fmt"

	"github.com/toolstream/toolstream/pkg/schema"
)

// ClassifierOf returns the classifier that was published. One of other signals
// than these is refused; that its numbers can be is for its Validate to say.
func ClassifierOf(c schema.Classifier) (Classifier, error) {
	var out Classifier
	for _, list := range []struct {
		from []float64
		to   *Signals
	}{{c.Mean, &out.Mean}, {c.Spread, &out.Spread}, {c.Weights, &out.Weights}} {
		if len(list.from) != int(SignalCount) {
			return Classifier{}, fmt.Errorf("rerank: a classifier of %d signals, not %d", len(list.from), SignalCount)
		}
		copy(list.to[:], list.from)
	}
	out.Bias = c.Bias
	return out, nil
}

// Published returns the classifier in its exchangeable form.
func (c *Classifier) Published(examples int) *schema.Classifier {
	list := func(s Signals) []float64 { return append([]float64(nil), s[:]...) }
	return &schema.Classifier{
		Mean: list(c.Mean), Spread: list(c.Spread), Weights: list(c.Weights), Bias: c.Bias, Examples: examples,
	}
}
