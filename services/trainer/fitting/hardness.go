package fitting

import (
	"cmp"
	"math"
	"slices"

	"github.com/toolstream/toolstream/pkg/fusion"
)

// usageShare is the share of uses, and of uses for similar queries, in the hardness of a
// negative, relative to the mean of all other features. Once usage ranks, used tools are the
// hard negatives. With the share of a single feature the learner would see too few of them
// and mistake use for relevance.
const usageShare = 0.5

// byHardness returns the positions of examples, hardest first: by the mean z-score over the
// features, and the z-scores of the uses.
func byHardness(examples []fusion.Example) []int {
	hardness := make([]float64, len(examples))
	for f := range fusion.UsagePrior {
		addZ(hardness, examples, f, 1/float64(fusion.UsagePrior))
	}
	addZ(hardness, examples, fusion.UsagePrior, usageShare)
	addZ(hardness, examples, fusion.UsageSimilar, usageShare)
	order := make([]int, len(examples))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(hardness[b], hardness[a]) })
	return order
}

// addZ adds share times the z-scores of a feature. A constant feature adds nothing.
func addZ(sums []float64, examples []fusion.Example, f fusion.Feature, share float64) {
	var mean, square float64
	for i := range examples {
		x := examples[i].Features[f]
		mean += x
		square += x * x
	}
	n := float64(len(examples))
	mean /= n
	deviation := math.Sqrt(max(0, square/n-mean*mean))
	if deviation < 1e-9 {
		return
	}
	for i := range examples {
		sums[i] += share * (examples[i].Features[f] - mean) / deviation
	}
}
