package fusion

import "cmp"

// Best returns the largest of phi(0) to phi(n-1) and its index: the score of a field for
// several needs, or of a field with several texts, is the score of the best pair. With nothing
// to compare, Best returns 0 and -1.
func Best(n int, phi func(i int) float64) (score float64, at int) {
	at = -1
	for i := range n {
		if s := phi(i); at < 0 || s > score {
			score, at = s, i
		}
	}
	return score, at
}

// Mean returns the mean of scores, 0 without scores: the parameter score
// S_param over each parameter's best argument s_p.
func Mean(scores []float64) float64 {
	if len(scores) == 0 {
		return 0
	}
	var mean float64
	for i, s := range scores {
		mean += (s - mean) / float64(i+1)
	}
	return mean
}

// Order compares two ranked candidates for slices.SortFunc: higher scores
// first, equal scores by id in descending string order. That is the tie rule of
// trec_eval; it makes a ranking independent of the order of its candidates.
func Order(scoreA float64, idA string, scoreB float64, idB string) int {
	if c := cmp.Compare(scoreB, scoreA); c != 0 {
		return c
	}
	return cmp.Compare(idB, idA)
}
