package ranking

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// ranked returns a ranking by words alone, of these scores.
func ranked(scores ...float64) []Ranked {
	var found []index.Candidate
	for i, score := range scores {
		found = append(found, tool(fmt.Sprintf("t%03d", i), "", score))
	}
	return Rank(found, model(), Signals{})
}

// Confidence is a probability, rises with all that speaks for a result, and knows no
// scale: neither that of the scores nor that of the model's cosines.
func TestConfidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.Float64Range(-10, 50), 1, 80).Draw(t, "scores")
		factor := rapid.Float64Range(0.01, 100).Draw(t, "factor")
		covered, near := rapid.Float64Range(0, 1).Draw(t, "covered"), rapid.Float64Range(-1, 1).Draw(t, "near")
		times := make([]float64, len(scores))
		for i, s := range scores {
			times[i] = factor * s
		}
		one, other := ranked(scores...), ranked(times...)
		wide, narrow := Scale{Unrelated: 0, Same: 0.6}, Scale{Unrelated: 0.7, Same: 0.85}
		for i := range one {
			r, same := one[i], other[i]
			r.Covered, same.Covered = covered, covered
			r.Similarity, same.Similarity = 0.6*near, 0.7+0.15*near
			p, q := r.Confidence(model(), wide), same.Confidence(model(), narrow)
			if !(p >= 0 && p <= 1) || math.Abs(p-q) > 1e-9 {
				t.Fatalf("place %d: %v, and %v on other scales", i, p, q)
			}
			if i > 0 && p > one[i-1].confidence(covered, 0.6*near, wide)+1e-12 {
				t.Fatalf("place %d: %v is more than that before it", i, p)
			}
			if more := r.confidence(min(1, covered+0.1), r.Similarity+0.1, wide); more < p {
				t.Fatalf("place %d: %v with more of the query, %v with less", i, more, p)
			}
			if r.Named = 0.5; r.confidence(covered, r.Similarity, wide) < p {
				t.Fatalf("place %d: %v without a word of the name, less with half of it", i, p)
			}
			if words := r.Evidence(model(), Scale{}); words.Vectors || words.Meaning != 0 {
				t.Fatalf("a meaning without vectors: %+v", words)
			}
		}
	})
}

func (r Ranked) confidence(covered, similarity float64, s Scale) float64 {
	r.Covered, r.Similarity = covered, similarity
	return r.Confidence(model(), s)
}

// A few candidates have no tail to stand out from: one alone is no surer than the first of
// many, and where nothing scores nothing stands out.
func TestStandingIsAboveTheTail(t *testing.T) {
	many := make([]float64, 100)
	for i := range many {
		many[i] = 10
	}
	many[99] = 100
	standing := func(r Ranked) float64 { return r.Evidence(model(), Scale{}).Standing }
	if got := standing(ranked(many...)[0]); math.Abs(got-0.9) > 1e-9 {
		t.Errorf("ten times all others: %v", got)
	}
	if got := standing(ranked(5)[0]); math.Abs(got-(1-tailShare)) > 1e-9 {
		t.Errorf("alone: %v", got)
	}
	for _, r := range ranked(0, 0, -1) {
		if got := standing(r); got != 0 {
			t.Errorf("without a score: %v", got)
		}
	}
	dense := &fusion.Model{}
	dense.Features[fusion.QueryDenseName] = 10
	first := Ranked{Best: 8, Lead: 2}
	if got := first.Evidence(dense, Scale{Unrelated: 0.4, Same: 0.9}).Standing; math.Abs(got-2./(8-4)) > 1e-9 {
		t.Errorf("above what has nothing to do with the query: %v", got)
	}
}
