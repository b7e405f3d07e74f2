package query

import "math"

// Advisor is a Scorer that reads too little of a tool to decide alone: what it says
// counts beside the score.
type Advisor interface {
	Scorer
	// Weight returns how many standard deviations of the scores one of its own counts.
	Weight() float64
}

// advised returns the scores of some tools with what an advisor says of them. Both are
// measured by how far apart they are, which makes them comparable whatever their scales.
func advised(scores, says []float64, weight float64) []float64 {
	out := append([]float64(nil), scores...)
	spread := deviation(says)
	if spread == 0 {
		return out // it says the same of all
	}
	per := weight * deviation(scores) / spread
	for i, x := range says {
		out[i] += per * x
	}
	return out
}

// deviation is the standard deviation.
func deviation(xs []float64) float64 {
	var sum, squares float64
	for _, x := range xs {
		sum += x
	}
	mean := sum / float64(max(1, len(xs)))
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	return math.Sqrt(squares / float64(max(1, len(xs))))
}
