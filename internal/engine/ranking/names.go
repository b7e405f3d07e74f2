package ranking

import (
	"math"

	"github.com/toolstream/toolstream/pkg/fusion"
)

// namesCompared is how many of the best candidates say how far apart scores and names
// are. More of them would hold what has nothing to do with the query, in a small registry
// sooner than in a large one.
const namesCompared = 10

// leastSpread is how far apart names are taken to be at least: where the query says about
// the same of all, as of those of copies, a little more of one is no reason to put it first.
const leastSpread = 0.02

// names sets how much of its name the query says, given the best tools. The spread of the scores is its unit,
// so that a weight means the same in every registry, and the spread of what is said
// takes off what most names share: where the query says little of any name, one that it
// does say tells more.
func names(rs []Ranked, best []*Ranked) {
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
