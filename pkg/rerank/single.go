package rerank

import "math"

// How far down a ranking SingleProbability looks.
const (
	topTools   = 10 // whose scores are shared out among owners
	ownerTools = 50 // among which the first owner's second tool is looked for
)

// SingleProbability returns the probability that one owner answers a query with so many
// needs, from its ranking, best first, with scores that need not be calibrated: a
// logistic regression on the share of the first ten scores that the first owner has, on
// the score of its second tool as a share of its first, and on the number of needs. The
// coefficients were fitted to the labels of the measured sets together.
func SingleProbability(items []Item, needs int) float64 {
	var mass, sibling float64
	if len(items) > 0 && items[0].Score > 0 {
		mass, sibling = firstOwner(items)
	}
	return 1 / (1 + math.Exp(4.7-8*mass-4*sibling+0.1*float64(needs)))
}

// firstOwner returns the share of the first scores that the owner of the first tool has,
// and its second tool's score as a share of its first one's.
func firstOwner(items []Item) (mass, sibling float64) {
	first, top := items[0].owner(), items[0].Score
	var all, own float64
	tools := 0
	for i := range items[:min(len(items), ownerTools)] {
		score := max(0, items[i].Score/top)
		if i < topTools {
			all += score
		}
		if items[i].owner() != first {
			continue
		}
		if i < topTools {
			own += score
		}
		if tools++; tools == 2 {
			sibling = score
		}
	}
	return own / all, sibling
}
