package ranking

import (
	"math"
	"slices"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// namesCompared is how many of the best candidates say how far apart scores and names
// are. More of them would hold what has nothing to do with the query, in a small registry
// sooner than in a large one.
const namesCompared = 10

// names sets how much of its name the query says. The spread of the scores is its unit,
// so that a weight means the same in every registry, and the spread of what is said
// takes off what most names share: where the query says little of any name, one that it
// does say tells more.
func names(rs []Ranked) {
	var best []*Ranked
	for i := range rs {
		if rs[i].Kind == schema.KindTool {
			best = append(best, &rs[i])
		}
	}
	slices.SortFunc(best, func(a, b *Ranked) int { return fusion.Order(a.Score, a.ID, b.Score, b.ID) })
	front := best[:min(len(best), namesCompared)]
	said := deviation(front, func(r *Ranked) float64 { return r.Named })
	if said == 0 {
		return
	}
	unit := deviation(front, func(r *Ranked) float64 { return r.Score }) / said
	for _, r := range best {
		r.Features[fusion.RelatedName] = r.Named * unit
	}
}

// deviation is the standard deviation, 0 of nothing.
func deviation(rs []*Ranked, of func(*Ranked) float64) float64 {
	n := float64(max(1, len(rs)))
	var mean, squares float64
	for _, r := range rs {
		mean += of(r) / n
	}
	for _, r := range rs {
		squares += (of(r) - mean) * (of(r) - mean) / n
	}
	return math.Sqrt(squares)
}
