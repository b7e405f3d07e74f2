package fusion

import (
	"math"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Model is a fusion model ready to score: schema.Weights with the feature
// names resolved to positions.
type Model struct {
	Version  string
	Features Features // weight of each feature
	Bias     float64
	Tau      float64 // a parameter whose best match is below Tau counts as missing
	Alpha    float64 // steepness of the gate
	Required float64 // price of a missing required parameter
	Optional float64 // price of a missing optional parameter
	Shares   bool    // both are shares of the best score of a ranking; else points of a score
}

// Unit returns what Required and Optional are multiplied by in a ranking whose best
// score, before anything is subtracted, is this.
func (m *Model) Unit(best float64) float64 {
	if m.Shares {
		return max(best, 0)
	}
	return 1
}

// Score returns the fused score of one candidate and the penalty that is part
// of it: score = w·f + bias - penalty (arXiv 2602.05366, equations 4 to 6).
func (m *Model) Score(f *Features, matches []schema.Match, unit float64) (score, penalty float64) {
	penalty = m.Penalty(matches, unit)
	return finite(m.Linear(f) - penalty), penalty
}

// Linear returns w·f + bias, without a penalty. It is finite for every finite
// input: a sum beyond the range of float64 is its largest value.
func (m *Model) Linear(f *Features) float64 {
	sum := m.Bias
	for i, w := range m.Features {
		sum += w * f[i]
	}
	if math.IsInf(sum, 0) || math.IsNaN(sum) {
		return m.saturated(f)
	}
	return sum
}

// saturated is Linear scaled down so that no partial sum overflows. It stays monotone in
// every feature; bounding the features would not.
func (m *Model) saturated(f *Features) float64 {
	const terms = 2 * float64(FeatureCount)
	sum := m.Bias / terms / terms
	for i, w := range m.Features {
		sum += finite(w/terms*f[i]) / terms
	}
	return finite(finite(sum*terms) * terms)
}

// finite replaces an infinity by the largest number of its sign.
func finite(x float64) float64 {
	return min(max(x, -math.MaxFloat64), math.MaxFloat64)
}

// Penalty returns the sum over the parameters of gate(s_p) times the price of a
// required or an optional one, in the ranking's Unit. No matches, no penalty.
func (m *Model) Penalty(matches []schema.Match, unit float64) float64 {
	var sum float64
	for _, match := range matches {
		sum += m.Missing(match, unit)
	}
	return finite(sum)
}

// Missing returns one parameter's term of the penalty.
func (m *Model) Missing(match schema.Match, unit float64) float64 {
	w := m.Optional
	if match.Required {
		w = m.Required
	}
	return w * Gate(m.Alpha, m.Tau, match.Score) * unit
}

// Gate returns sigmoid(alpha·(tau - s)), in [0, 1]: it rises when the match s
// falls below tau. Equation 5 as printed in arXiv 2602.05366 has the opposite
// sign; the authors' code has this one.
func Gate(alpha, tau, s float64) float64 {
	return 1 / (1 + math.Exp(-alpha*(tau-s)))
}
