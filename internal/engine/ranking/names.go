package ranking

import (
	"math"

	"github.com/toolstream/toolstream/pkg/fusion"
)

// namesCompared is the number of best candidates used to measure the spread of scores and names. A
// larger number would include unrelated tools, in a small registry sooner than in a large one.
const namesCompared = 10

// leastSpread is the minimum assumed spread of names: if the query covers about the same share of
// all names, as with copies, a small difference must not decide.
const leastSpread = 0.02

// setNames sets the share of its name that the query contains, given the best tools. The spread of
// the scores is its unit, so that a weight means the same in every registry, and the spread of
// Named removes the part that most names share: if the query covers little of most names, a name
// that it covers is worth more.
func setNames(rs []Ranked, best []*Ranked) {
	said := deviation(best, func(r *Ranked) float64 { return r.Named })
	apart := deviation(best, func(r *Ranked) float64 { return r.Score })
	unit := apart / max(said, leastSpread)
	for i := range rs {
		rs[i].Features[fusion.RelatedName] = rs[i].Named * unit
	}
}

// deviation returns the standard deviation, 0 of nothing.
func deviation(rs []*Ranked, of func(*Ranked) float64) float64 {
	var mean, squares float64
	n := float64(max(1, len(rs)))
	for _, r := range rs {
		mean += of(r) / n
	}
	for _, r := range rs {
		squares += (of(r) - mean) * (of(r) - mean) / n
	}
	return math.Sqrt(squares)
}
