package ranking

import (
	"math"

	"github.com/toolstream/toolstream/pkg/fusion"
)

// Confidence is a logistic model of the probability that a result is what the query
// wants. What it reads means the same in every registry, by every weights and embedding
// model, which scores do not.
type Confidence struct {
	Bias     float64 `json:"bias"`
	Standing float64 `json:"standing"` // how far the score is above those of the tail, as a share of the best above what an unrelated tool scores
	Meaning  float64 `json:"meaning"`  // the square of how near the cosine is to that of texts that mean the same
	Named    float64 `json:"named"`    // the square of how much of the tool's name the query says
	Words    float64 `json:"words"`    // the square of the share of a need's words that the tool holds
}

// The models, as `toolstream tune --confidence` fits them to the sets that
// docs/quality.md names, with the built-in embedding model.
var (
	byMeaningAndWords = Confidence{Bias: -5.41, Standing: 4.77, Meaning: 1.24, Named: 1.43, Words: 1.37}
	byWords           = Confidence{Bias: -4.64, Standing: 3.84, Named: 2.55, Words: 2.61}
)

// NothingFits is the confidence that a result has to have for anything to fit a query.
const NothingFits = 0.15

// Scale says by two cosines how an embedding model uses its range. The zero Scale is that
// of no model: searches go by words alone.
type Scale struct {
	Unrelated float64 // the mean of texts about different things
	Same      float64 // the mean of texts that mean the same
}

// floor returns what a model scores a tool at whose texts have nothing to do with a query.
func (s Scale) floor(m *fusion.Model) (score float64) {
	for f, weight := range m.Features {
		if fusion.Feature(f).Dense() {
			score += weight * s.Unrelated
		}
	}
	return score
}

// leastScale is the difference of the cosines of a Scale from which a model can tell
// anything.
const leastScale = 0.05

// Known reports whether cosines can be compared with those of other models.
func (s Scale) Known() bool { return s.Same-s.Unrelated >= leastScale }

// Evidence is what the confidence in a result is computed from.
type Evidence struct {
	Standing, Meaning, Named, Words float64
	Vectors                         bool // whether Meaning is known
}

// farthest bounds Meaning: a copy of the query is hardly more right than what means it.
const farthest = 1.5

// Evidence returns the evidence for a candidate that the model ranked, with cosines of
// this scale.
func (r *Ranked) Evidence(m *fusion.Model, s Scale) Evidence {
	e := Evidence{Named: r.Named * r.Named, Words: r.Covered * r.Covered, Vectors: s.Known()}
	floor := s.floor(m)
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

// Confidence returns the probability that a result is what the query wants, by the model
// for what is known.
func (e Evidence) Confidence() float64 {
	m := BuiltinConfidence(e.Vectors)
	return m.Of(e)
}

// BuiltinConfidence returns the model that serves where vectors are known, or are not.
func BuiltinConfidence(vectors bool) Confidence {
	if vectors {
		return byMeaningAndWords
	}
	return byWords
}

// Of returns the probability by the model.
func (c *Confidence) Of(e Evidence) float64 {
	return 1 / (1 + math.Exp(-(c.Bias + c.Standing*e.Standing + c.Meaning*e.Meaning + c.Named*e.Named + c.Words*e.Words)))
}

// The tail of a ranking are the candidates in its places from tailFrom to tailTo, from 0:
// behind what may be right, and as many as every search has that finds enough.
const (
	tailFrom = 10
	tailTo   = 60
)

// tailShare is about what a score of the tail is of the best, in the mean over the same sets.
// Where there are too few candidates for a tail, such are taken to be there.
const tailShare = 0.38

// stand sets how far each score of an ordered ranking is above those of the tail.
func stand(rs []Ranked) {
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
