package trainer

import (
	"math"
	"slices"
)

// The click model: a user looks at rank r with probability 1/r, and errs in one of ten
// looks.
const clickError = 0.1

// clicked is the probability that a user clicks the tool at a rank, which is relevant with
// probability p.
func clicked(rank int, p float64) float64 {
	return (clickError + (1-2*clickError)*p) / float64(rank+1)
}

// The log odds that the sessions of a cluster add up to are bounded: a tool that was found
// relevant is irrelevant again after as many sessions, however long it was relevant
// (clamped updates, Yguel et al. 2008). Tools that were passed over stay so for longer, or
// they would be looked at again and again.
const (
	maxEvidence = 5
	minEvidence = -8
)

// How clients are judged: in turn with the tools.
const (
	rounds       = 4
	trusted      = 2 // log odds that an unknown client is reliable
	maxAgreement = 8
)

// relevance is what the sessions of a tenant say when they are taken together.
type relevance struct {
	evidence map[string][]float64 // by cluster, for each of its tools: log likelihood ratio of its sessions
	odds     map[string][]float64 // the same, log odds that it is relevant
	prior    [maxDepth]float64    // by rank: log odds that a tool without evidence is relevant
	reliable map[string]float64   // by client: probability that it clicks relevant tools
}

// relevance estimates the relevance of tools, how many tools are relevant at each rank, and
// the reliability of clients in turn (Dawid and Skene 1979): a client whose clicks fall
// where those of the other clients do is reliable, and one who clicks at random is not.
func (t *tenantState) relevance() *relevance {
	r := &relevance{evidence: map[string][]float64{}, odds: map[string][]float64{}, reliable: map[string]float64{}}
	clusters := t.byAge()
	for range rounds {
		r.setPrior(clusters)
		agreement := map[string]float64{}
		for _, c := range clusters {
			r.judge(c)
			for i := range c.Sessions {
				agreement[c.Sessions[i].Client] += r.agreement(c, &c.Sessions[i])
			}
		}
		for client, sum := range agreement {
			r.reliable[client] = logistic(trusted + max(-maxAgreement, min(sum, maxAgreement)))
		}
	}
	return r
}

// priorClusters is how many clusters the first estimate counts for, by which the tool at
// rank r is relevant with probability 1/2r.
const priorClusters = 3

// setPrior estimates how often a tool is relevant at each rank.
func (r *relevance) setPrior(clusters []*cluster) {
	var relevant, all [maxDepth]float64
	for _, c := range clusters {
		for i := range c.Sessions {
			for rank, tool := range c.Sessions[i].Shown[:min(len(c.Sessions[i].Shown), maxDepth)] {
				if odds := r.odds[c.id]; odds != nil {
					relevant[rank] += logistic(odds[tool]) / float64(len(c.Sessions))
					all[rank] += 1 / float64(len(c.Sessions))
				}
			}
		}
	}
	for rank := range r.prior {
		p := (relevant[rank] + priorClusters*0.5/float64(rank+1)) / (all[rank] + priorClusters)
		r.prior[rank] = math.Log(p / (1 - p))
	}
}

// judge adds up what the sessions of a cluster say of its tools, oldest first, each as far
// as its client is reliable.
func (r *relevance) judge(c *cluster) {
	evidence, before := make([]float64, len(c.Tools)), r.odds[c.id]
	odds, times := make([]float64, len(c.Tools)), make([]float64, len(c.Tools))
	for i := range c.Sessions {
		s := &c.Sessions[i]
		clicks := make([]float64, len(s.Shown)) // the probability of each, by the round before
		nothing := 1.
		for rank, tool := range s.Shown {
			prior := r.prior[min(rank, maxDepth-1)]
			odds[tool] += prior
			times[tool]++
			if before != nil {
				prior = before[tool]
			}
			clicks[rank] = clicked(rank, logistic(prior))
			nothing *= 1 - clicks[rank]
		}
		for rank, tool := range s.Shown {
			says := s.evidence(rank, tool) + reported(rank, nothing/(1-clicks[rank]))
			evidence[tool] = max(minEvidence, min(evidence[tool]+r.of(s.Client)*says, maxEvidence))
		}
	}
	for tool := range odds {
		odds[tool] = odds[tool]/max(times[tool], 1) + evidence[tool]
	}
	r.evidence[c.id], r.odds[c.id] = evidence, odds
}

// reported is the log likelihood ratio of there being a session to count at all, for the
// tool at a rank: searches without feedback are no sessions, so that where no
// relevant tool is shown the errors are what is counted. It takes from a click what any
// click would be worth, and adds to passing a tool over. Nothing is the probability that
// no other tool is clicked.
func reported(rank int, nothing float64) float64 {
	return math.Log((1 - nothing*(1-clicked(rank, 0))) / (1 - nothing*(1-clicked(rank, 1))))
}

// of returns how reliable a client is. A client without a name is one of many.
func (r *relevance) of(client string) float64 {
	if p, known := r.reliable[client]; known && client != "" {
		return p
	}
	return 1
}

// evidence is the log likelihood ratio of what a user did with the tool at a rank.
func (s *session) evidence(rank, tool int) float64 {
	switch {
	case slices.Contains(s.Rejected, tool):
		return math.Log(clickError/(1-clickError)) / 2 // it may be relevant and out of order
	case slices.Contains(s.Used, tool):
		return math.Log((1 - clickError) / clickError)
	}
	return math.Log((1 - clicked(rank, 1)) / (1 - clicked(rank, 0)))
}

// agreement is the log likelihood ratio of the clicks of a session: of a client who clicks
// what the other clients find relevant, against one who clicks at random.
func (r *relevance) agreement(c *cluster, s *session) (sum float64) {
	for rank, tool := range s.Shown {
		if slices.Contains(s.Used, tool) {
			others := r.odds[c.id][tool] - r.of(s.Client)*s.evidence(rank, tool)
			sum += math.Log(clicked(rank, logistic(others)) * float64(len(s.Shown)))
		}
	}
	return sum
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
