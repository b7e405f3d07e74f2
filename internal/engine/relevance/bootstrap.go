package relevance

import (
	"math/rand/v2"
	"slices"
)

// The bootstrap draws so many samples of the queries, with replacement, always
// from the same seed, and takes the middle 95 %.
const (
	resamples = 10_000
	seed      = 1979 // Efron, "Bootstrap methods: another look at the jackknife"
	tail      = 0.025
)

// Interval is a mean and its 95 % interval by percentile bootstrap over the
// queries.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Bootstrap returns the interval of the mean of values, one a query.
func Bootstrap(values []float64) Interval {
	return interval(values, resampled(values))
}

func interval(values, means []float64) Interval {
	if len(values) == 0 {
		return Interval{}
	}
	at := func(q float64) float64 { return means[min(int(q*float64(len(means))), len(means)-1)] }
	return Interval{Mean: mean(values), Low: at(tail), High: at(1 - tail)}
}

// resampled returns the means of the samples, lowest first.
func resampled(values []float64) []float64 {
	if len(values) == 0 {
		return nil
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	means := make([]float64, resamples)
	for i := range means {
		var sum float64
		for range values {
			sum += values[rng.IntN(len(values))]
		}
		means[i] = sum / float64(len(values))
	}
	slices.Sort(means)
	return means
}

func mean(values []float64) float64 {
	var sum float64
	for _, x := range values {
		sum += x
	}
	return sum / float64(max(1, len(values)))
}
