package training

import (
	"cmp"
	"math"
	"slices"

	"github.com/toolstream/toolstream/pkg/fusion"
)

// usageShare is what uses, and uses for similar queries, each count for how hard
// a negative is, against the mean of all other features. Used tools are the hard
// ones once usage ranks; with a share of one feature in many the learner meets
// too few of them and takes use for the answer.
const usageShare = 0.5

// byHardness returns the positions of examples, those that look most like an
// answer first: by the mean over the features of their z-scores, and those of
// the uses.
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

// addZ adds share times the z-scores of a feature; one that is the same for all
// adds nothing.
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
