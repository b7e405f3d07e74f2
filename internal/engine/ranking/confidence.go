package ranking

import (
	"math"

	"github.com/toolstream/toolstream/pkg/fusion"
)

// Confidence is a logistic model of the probability that a result is right for the query. Its
// inputs are comparable between registries, weights and embedding models; scores are not.
type Confidence struct {
	Bias     float64 `json:"bias"`
	Standing float64 `json:"standing"` // how far the score is above the tail, relative to how far the best score is above an unrelated tool
	Meaning  float64 `json:"meaning"`  // the square of the cosine's nearness to the cosine of texts that mean the same
	Named    float64 `json:"named"`    // the share of the tool's name that the query contains, times the share of a need's words that the tool holds
}

// The models, as `toolstream-lab tune --confidence` fits them to the sets that
// docs/evaluate.md names, with the built-in embedding model.
var (
	byMeaningAndWords = Confidence{Bias: -5.04, Standing: 4.47, Meaning: 1.06, Named: 3.30}
	byWords           = Confidence{Bias: -4.27, Standing: 3.68, Named: 5.55}
)

// NothingFits is the confidence that a result has to have for anything to fit a query.
const NothingFits = 0.15

// Scale describes by two cosines how an embedding model uses its range. The zero Scale is for no
// model: searches use words alone.
type Scale struct {
	Unrelated float64 // the mean of texts about different things
	Same      float64 // the mean of texts that mean the same
}

// leastScale is the least difference of the cosines of a useful Scale.
const leastScale = 0.05

// Known reports whether cosines can be compared with other models.
func (s Scale) Known() bool { return s.Same-s.Unrelated >= leastScale }

// Evidence is the input of the confidence in a result.
type Evidence struct {
	Standing, Meaning, Named float64
	Vectors                  bool // whether Meaning is known
}

// farthest bounds Meaning: a copy of the query is hardly more right than a paraphrase.
const farthest = 1.5

// Evidence returns the evidence for a candidate that the model ranked, with cosines of
// this scale.
func (r *Ranked) Evidence(m *fusion.Model, s Scale) Evidence {
	e := Evidence{Named: r.Named * r.Covered, Vectors: s.Known()}
	floor := 0. // score of a tool whose texts have nothing to do with the query
	for f, weight := range m.Features {
		if fusion.Feature(f).Dense() {
			floor += weight * s.Unrelated
		}
	}
	if r.Features[fusion.RelatedProvider] != 0 {
		floor += m.Features[fusion.RelatedProvider] * s.Unrelated
	}
	if above := r.Best - floor; r.Best > 0 && above > 0 {
		e.Standing = min(r.Lead/above, 1)
	}
	if e.Vectors {
		near := min(max(0, (r.Similarity-s.Unrelated)/(s.Same-s.Unrelated)), farthest)
		e.Meaning = near * near
	}
	return e
}

// Confidence returns the probability that a candidate is right for the query, by the built-in
// model for its evidence; 0 for a candidate that is held back, whose texts say nothing of that.
func (r *Ranked) Confidence(m *fusion.Model, s Scale) float64 {
	if r.HeldBack != "" {
		return 0
	}
	e := r.Evidence(m, s)
	c := BuiltinConfidence(e.Vectors)
	return c.Of(e)
}

// BuiltinConfidence returns the built-in model, with or without vectors.
func BuiltinConfidence(vectors bool) Confidence {
	if vectors {
		return byMeaningAndWords
	}
	return byWords
}

// Of returns the probability by the model.
func (c *Confidence) Of(e Evidence) float64 {
	return 1 / (1 + math.Exp(-(c.Bias + c.Standing*e.Standing + c.Meaning*e.Meaning + c.Named*e.Named)))
}

// The tail of a ranking are the candidates in its places from tailFrom to tailTo, from 0: after
// every possibly right candidate, and as many as every search with enough hits has.
const (
	tailFrom = 10
	tailTo   = 60
)

// tailShare is the mean share of the best score that a score of the tail has, on the same sets.
// Missing candidates of the tail are assumed to have it.
const tailShare = 0.38

// setLead sets how far each score of an ordered ranking is above the tail.
func setLead(rs []Ranked) {
	if len(rs) == 0 {
		return
	}
	best, tail := rs[0].Score, 0.
	for i := tailFrom; i < tailTo; i++ {
		score := tailShare * best
		if i < len(rs) {
			score = rs[i].Score
		}
		tail += max(0, score) / (tailTo - tailFrom)
	}
	for i := range rs {
		rs[i].Best, rs[i].Lead = best, rs[i].Score-tail
	}
}
