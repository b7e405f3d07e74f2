package rerank

import (
	"math/rand/v2"
	"testing"
)

// pile is a ranking of two owners in turns, of which one has all that is relevant;
// the first of the other stands in front.
func pile(rng *rand.Rand, relevant string, single float64) Judged {
	j := Judged{Single: single}
	for n := range 8 {
		owner := []string{"other", "own"}[n%2]
		j.Items = append(j.Items, Item{ID: owner, Owner: owner, Score: 0.99 - 0.02*float64(n) + 0.01*rng.Float64()})
	}
	j.Worth = func(order []Place) (found float64) {
		for rank, place := range order[:4] {
			if j.Items[place.At].Owner == relevant {
				found += 1 / float64(rank+1)
			}
		}
		return found
	}
	return j
}

// Where only queries that are certain to be of one owner gain by being reordered,
// the probability from which they are rises above that of the others, which lose.
func TestBoundsAreLearnedWhereTheyMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	config := DefaultConfig()
	config.SingleFrom, config.Clear = 0.4, 0.98 // only the first owner is clear
	var rankings []Judged
	for range 40 {
		rankings = append(rankings, pile(rng, "other", 0.95), pile(rng, "own", 0.55))
	}
	before := mean(config.worths(rankings))
	learned := LearnBounds(config, rankings)
	if err := learned.Validate(); err != nil {
		t.Fatal(err)
	}
	after := mean(learned.worths(rankings))
	if learned.SingleFrom <= 0.55 || learned.SingleFrom > 0.95 || after <= before {
		t.Errorf("from %.3f to %.3f by %+v", before, after, learned)
	}
	other := DefaultConfig()
	if got := LearnBounds(other, rankings[:1]); got != other {
		t.Errorf("one query taught %+v", got)
	}
	if got := LearnBounds(other, nil); got != other {
		t.Errorf("nothing taught %+v", got)
	}
}

func mean(values []float64) (m float64) {
	for _, v := range values {
		m += v / float64(len(values))
	}
	return m
}
