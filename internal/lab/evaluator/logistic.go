package evaluator

import "github.com/toolstream/toolstream/internal/engine/ranking"

// How a model of confidence is fitted.
const (
	newtonSteps       = 30
	ridgeOfConfidence = 0.001
)

// evidences are the inputs of a model of confidence, and its bias.
const evidences = 4

// fitConfidence fits a logistic regression by Newton's method. All sets count the same, and
// a result by one over its place.
func fitConfidence(all []asked) ranking.Confidence {
	var b [evidences]float64
	foreign := map[string]float64{} // queries by set
	for _, a := range all {
		if a.foreign {
			foreign[a.set] += float64(len(a.results))
		}
	}
	for range newtonSteps {
		l := &logistic{model: confidenceOf(b)}
		for i := range b {
			l.hessian[i][i] = ridgeOfConfidence
			if i > 0 { // the bias is free
				l.gradient[i] = ridgeOfConfidence * b[i]
			}
		}
		for _, a := range all {
			weight := 1 / float64(len(a.results))
			if a.foreign {
				weight = foreignWeight / foreign[a.set]
			}
			for _, results := range a.results {
				for place, r := range results {
					weight := weight / float64(place+1)
					e := &r.evidence
					x := [evidences]float64{1, e.Standing, e.Meaning, e.Named}
					p := l.model.Of(r.evidence)
					for i := range x {
						l.gradient[i] += weight * (p - rightness(r)) * x[i]
						for j := range x {
							l.hessian[i][j] += weight * p * (1 - p) * x[i] * x[j]
						}
					}
				}
			}
		}
		for i, step := range solve(l.hessian, l.gradient) {
			b[i] -= step
		}
	}
	return confidenceOf(b)
}

// logistic is the first and second derivative of the loss of a model.
type logistic struct {
	model    ranking.Confidence
	gradient [evidences]float64
	hessian  [evidences][evidences]float64
}

func confidenceOf(b [evidences]float64) ranking.Confidence {
	return ranking.Confidence{Bias: b[0], Standing: b[1], Meaning: b[2], Named: b[3]}
}

// solve returns the x with a·x = y, by elimination; a is positive definite.
func solve(a [evidences][evidences]float64, y [evidences]float64) (x [evidences]float64) {
	for i := range a {
		for k := i + 1; k < evidences; k++ {
			factor := a[k][i] / a[i][i]
			for j := i; j < evidences; j++ {
				a[k][j] -= factor * a[i][j]
			}
			y[k] -= factor * y[i]
		}
	}
	for i := evidences - 1; i >= 0; i-- {
		x[i] = y[i]
		for j := i + 1; j < evidences; j++ {
			x[i] -= a[i][j] * x[j]
		}
		x[i] /= a[i][i]
	}
	return x
}
