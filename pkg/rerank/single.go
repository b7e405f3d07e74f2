package rerank

import "math"

// Evidence is a ranking's evidence that one owner answers a query.
type Evidence struct {
	Needs    int     // that are compared
	Coverage float64 // how well the owner of the first tool does for them: 1 is as well as all tools
	Lift     float64 // how much more it would be with the tools of a second owner
}

// compared is how many of the first tools are compared.
const compared = 20

// EvidenceOf returns the evidence of a ranking, best first: the best score of an owner's tools
// for a need as a share of the best score of all tools, in the mean over the needs. A need
// counts by the square of its best score, because the preamble of a request resembles no tool.
func EvidenceOf(items []Item) (e Evidence) {
	if len(items) == 0 {
		return e
	}
	items = items[:min(len(items), compared)]
	best := make([]float64, len(items[0].Needs))
	owners := map[string][]float64{}
	for i := range items {
		own := owners[items[i].owner()]
		if own == nil {
			own = make([]float64, len(best))
			owners[items[i].owner()] = own
		}
		for n := range min(len(best), len(items[i].Needs)) {
			best[n], own[n] = max(best[n], items[i].Needs[n]), max(own[n], items[i].Needs[n])
		}
	}
	first := owners[items[0].owner()]
	var all, alone, both float64
	for n := range best {
		all, alone = all+best[n]*best[n], alone+best[n]*first[n]
	}
	for _, own := range owners {
		var sum float64
		for n := range best {
			sum += best[n] * max(first[n], own[n])
		}
		both = max(both, sum)
	}
	if all > 0 {
		e = Evidence{Needs: len(best), Coverage: alone / all, Lift: (both - alone) / all}
	}
	return e
}

// Classifier tells by a logistic regression on the evidence whether one owner answers a
// query, and what to do about it.
type Classifier struct {
	Bias       float64 `json:"bias"`
	Coverage   float64 `json:"coverage"`
	Lift       float64 `json:"lift"`
	SingleFrom float64 `json:"single_from"` // least probability of a query that is reranked as single
	MultiTo    float64 `json:"multi_to"`    // greatest probability of a query that is reranked as multi
}

// Single returns the probability that one owner answers a query.
func (c *Classifier) Single(e Evidence) float64 {
	return 1 / (1 + math.Exp(-c.Bias-c.Coverage*e.Coverage-c.Lift*e.Lift))
}

// Choose returns the algorithm for a query, or none if the probability is in between. One tool
// answers a query of one need: there is nothing to bring together or to spread.
func (c *Classifier) Choose(e Evidence) Algorithm {
	switch p := c.Single(e); {
	case e.Needs < 2:
		return None
	case p >= c.SingleFrom:
		return Single
	case p <= c.MultiTo:
		return Multi
	}
	return None
}
