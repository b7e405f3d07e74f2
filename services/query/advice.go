package query

import "math"

// Advisor is a Scorer that reads too little of a tool to decide alone: what it says
// counts beside the score.
type Advisor interface {
	Scorer
	// Weight returns how many standard deviations of the scores one of its own counts.
	Weight() float64
}

// advice returns how much of a score of some tools what an advisor says of them counts.
// Both are measured by how far apart they are, which makes them comparable whatever their
// scales.
func advice(places []place, says []float64, weight float64) float64 {
	scores := make([]float64, len(places))
	for i := range places {
		scores[i] = places[i].item.Score
	}
	spread := deviation(says)
	if spread == 0 {
		return 0 // it says the same of all
	}
	return weight * deviation(scores) / spread
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
