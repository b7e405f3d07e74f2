package relevance

import "errors"

// Difference compares one metric of two runs over the queries that both have.
type Difference struct {
	A          float64 `json:"a"`
	B          float64 `json:"b"`
	Difference float64 `json:"difference"` // B less A, with its 95 % interval
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	P          float64 `json:"p"` // of a difference as large by chance, two-sided; at least 1/5000
}

// Comparison holds a difference for each of MetricNames, in that order. Its
// JSON form is an object by name.
type Comparison [len(Metrics{})]Difference

// MarshalJSON writes an object in the order of MetricNames.
func (c Comparison) MarshalJSON() ([]byte, error) { return byName(c[:]) }

// Compare compares two runs query by query, by paired bootstrap, and returns
// how many queries both have.
func Compare(a, b []QueryResult) (Comparison, int, error) {
	before := make(map[string]*QueryResult, len(a))
	for i := range a {
		before[a[i].ID] = &a[i]
	}
	var pairs [][2]*QueryResult
	for i := range b {
		if old := before[b[i].ID]; old != nil {
			pairs = append(pairs, [2]*QueryResult{old, &b[i]})
		}
	}
	if len(pairs) == 0 {
		return Comparison{}, 0, errors.New("the two runs have no query in common")
	}
	var c Comparison
	for metric := range c {
		a, b := make([]float64, len(pairs)), make([]float64, len(pairs))
		for i, p := range pairs {
			a[i], b[i] = p[0].Metrics[metric], p[1].Metrics[metric]
		}
		c[metric] = Differ(a, b)
	}
	return c, len(pairs), nil
}

// Differ compares one metric of two runs that both have a value for every query, by paired
// bootstrap.
func Differ(a, b []float64) Difference {
	var d Difference
	deltas := make([]float64, len(a))
	for i := range a {
		d.A += a[i] / float64(len(a))
		d.B += b[i] / float64(len(a))
		deltas[i] = b[i] - a[i]
	}
	means := resampled(deltas)
	over := interval(deltas, means)
	d.Difference, d.Low, d.High, d.P = over.Mean, over.Low, over.High, chance(means)
	return d
}

// chance returns twice the share of the samples whose mean is on the other
// side of 0, or on it.
func chance(means []float64) float64 {
	below, above := 0, 0
	for _, x := range means {
		if x <= 0 {
			below++
		}
		if x >= 0 {
			above++
		}
	}
	return min(1, 2*max(1, float64(min(below, above)))/float64(len(means)))
}
