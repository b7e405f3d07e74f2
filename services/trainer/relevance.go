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

// relevance is the joint evidence of the sessions of a tenant.
type relevance struct {
	evidence map[string][]float64 // by cluster, for each of its tools: log likelihood ratio of its sessions
	odds     map[string][]float64 // the same, log odds that it is relevant
	prior    [maxDepth]float64    // by rank: log odds that a tool without evidence is relevant
	reliable map[reporter]float64 // probability that it clicks relevant tools
	broad    map[string]bool      // ids of tools that are used for too many queries to say anything of one
	apart    bool                 // there are several credentials: each is one client, whatever names it gives
}

// relevance estimates the relevance of tools, how many tools are relevant at each rank, and
// the reliability of clients in turn (Dawid and Skene 1979): a client who agrees with the
// clicks of the other clients is reliable, and a client who clicks at random is not.
func (t *tenantState) relevance() *relevance {
	r := &relevance{evidence: map[string][]float64{}, odds: map[string][]float64{}, reliable: map[reporter]float64{}}
	clusters := t.byAge()
	credentials := map[string]bool{}
	for _, c := range clusters {
		for i := range c.Sessions {
			credentials[c.Sessions[i].Credential] = true
		}
	}
	r.apart = len(credentials) > 1
	for range rounds {
		r.setPrior(clusters)
		agreement := map[reporter]float64{}
		r.judgeAll(clusters)
		if r.broad == nil && !r.apart {
			if r.broad = r.usedForMost(clusters); len(r.broad) > 0 {
				r.judgeAll(clusters)
			}
		}
		for _, c := range clusters {
			r.agreements(c, agreement)
		}
		for client, sum := range agreement {
			r.reliable[client] = logistic(trusted + max(-maxAgreement, min(sum, maxAgreement)))
		}
	}
	return r
}

// A tool that is used for nearly every query carries no information about any of them. A client
// that reports one tool in every search looks like as many users as it invents names, until
// the tool is used for most queries, as no other tool is.
const (
	enoughQueries = 32  // least number of clusters for this check
	mostQueries   = 0.4 // share of the clusters that a tool is used for at most
)

// usedForMost returns the tools that are used for more than mostQueries, before clients are
// judged. It ignores searches without a vector: any number of them may ask the same.
func (r *relevance) usedForMost(clusters []*cluster) map[string]bool {
	queries, used := 0, map[string]int{}
	for _, c := range clusters {
		if len(c.Vector) == 0 {
			continue
		}
		queries++
		for i, x := range r.evidence[c.id] {
			if x >= leastEvidence {
				used[c.Tools[i].ID]++
			}
		}
	}
	broad := map[string]bool{}
	for id, n := range used {
		if queries >= enoughQueries && float64(n) > mostQueries*float64(queries) {
			broad[id] = true
		}
	}
	return broad
}

// judgeAll judges every cluster, and removes the positive evidence for tools that are used for
// most queries.
func (r *relevance) judgeAll(clusters []*cluster) {
	for _, c := range clusters {
		r.judge(c)
		evidence, odds := r.evidence[c.id], r.odds[c.id]
		for i := range c.Tools {
			if r.broad[c.Tools[i].ID] && evidence[i] > 0 {
				odds[i], evidence[i] = min(0, odds[i]-evidence[i]), 0
			}
		}
	}
}

// priorClusters is the weight, in clusters, of the first estimate: the tool at rank r is
// relevant with probability 1/2r.
const priorClusters = 3

// setPrior estimates how often a tool is relevant at each rank.
func (r *relevance) setPrior(clusters []*cluster) {
	var relevant, all [maxDepth]float64
	for _, c := range clusters {
		odds := r.odds[c.id]
		if odds == nil {
			continue
		}
		weights, total := r.weights(c), 0.
		for i := range weights {
			weights[i] = r.saw(weights[i])
			total += weights[i]
		}
		for i := range c.Sessions {
			share := weights[i] / max(total, 1)
			for rank, tool := range c.Sessions[i].Shown[:min(len(c.Sessions[i].Shown), maxDepth)] {
				relevant[rank] += share * logistic(odds[tool])
				all[rank] += share
			}
		}
	}
	for rank := range r.prior {
		p := (relevant[rank] + priorClusters*0.5/float64(rank+1)) / (all[rank] + priorClusters)
		r.prior[rank] = math.Log(p / (1 - p))
	}
}

// fullCredential is how many sessions of a cluster a credential among others counts for at
// most: as many as take the evidence to its bound.
const fullCredential = 4

// client returns whom a session is of, as far as that is sure: a credential may give any
// name. If there is only one credential, clients are told apart by name.
func (r *relevance) client(s *session) reporter {
	if r.apart {
		return reporter{Credential: s.Credential}
	}
	return s.reporter
}

// weights returns how much each session of a cluster counts: the reliability of its client, and
// for all sessions of a credential among others together at most fullCredential.
func (r *relevance) weights(c *cluster) []float64 {
	sessions, out := c.byCredential(), make([]float64, len(c.Sessions))
	for i := range c.Sessions {
		s := &c.Sessions[i]
		narrow := func(tool int) bool { return !r.broad[c.Tools[tool].ID] }
		if len(s.Used) > 0 && !slices.ContainsFunc(s.Used, narrow) {
			continue // it says nothing: it only uses tools that are used for most queries
		}
		client := r.client(s)
		out[i] = 1
		if p, known := r.reliable[client]; known && (r.apart || client.Client != "") { // without a name it may be anybody
			out[i] = p
		}
		if r.apart {
			out[i] *= min(1, fullCredential/float64(sessions[s.Credential]))
		}
	}
	return out
}

// saw returns how much the rank of a tool in a session of that weight counts. Unreliable
// credentials may have brought the tool there themselves.
func (r *relevance) saw(weight float64) float64 {
	if r.apart {
		return weight
	}
	return 1
}

// judge adds up what the sessions of a cluster say of its tools, oldest first, each by its
// weight.
func (r *relevance) judge(c *cluster) {
	evidence, before := make([]float64, len(c.Tools)), r.odds[c.id]
	odds, times := make([]float64, len(c.Tools)), make([]float64, len(c.Tools))
	weights := r.weights(c)
	for i := range c.Sessions {
		s := &c.Sessions[i]
		clicks := make([]float64, len(s.Shown)) // the probability of each, by the round before
		nothing := 1.
		for rank, tool := range s.Shown {
			prior := r.prior[min(rank, maxDepth-1)]
			odds[tool] += r.saw(weights[i]) * prior
			times[tool] += r.saw(weights[i])
			if before != nil {
				prior = before[tool]
			}
			clicks[rank] = clicked(rank, logistic(prior))
			nothing *= 1 - clicks[rank]
		}
		for rank, tool := range s.Shown {
			says := s.evidence(rank, tool) + reported(rank, nothing/(1-clicks[rank]))
			evidence[tool] = max(minEvidence, min(evidence[tool]+weights[i]*says, maxEvidence))
		}
	}
	for tool := range odds {
		unseen := max(0, 1-times[tool])
		odds[tool] = (odds[tool]+unseen*r.prior[maxDepth-1])/(times[tool]+unseen) + evidence[tool]
	}
	r.evidence[c.id], r.odds[c.id] = evidence, odds
}

// reported is the log likelihood ratio of feedback on the search at all, for the tool at a
// rank. Searches without feedback are not counted, so that without a relevant tool only errors
// are. The ratio reduces the value of a click by that of any click, and raises the value of a
// skip. Nothing is the probability that no other tool is clicked.
func reported(rank int, nothing float64) float64 {
	return math.Log((1 - nothing*(1-clicked(rank, 0))) / (1 - nothing*(1-clicked(rank, 1))))
}

// evidence is the log likelihood ratio of the acts of a user on the tool at a rank.
func (s *session) evidence(rank, tool int) float64 {
	switch {
	case slices.Contains(s.Rejected, tool):
		return math.Log(clickError/(1-clickError)) / 2 // it may be relevant and out of order
	case slices.Contains(s.Used, tool):
		return math.Log((1 - clickError) / clickError)
	}
	return math.Log((1 - clicked(rank, 1)) / (1 - clicked(rank, 0)))
}

// agreements adds to sums what the sessions of a cluster say of their clients: the log
// likelihood ratio of the clicks, of a client who clicks what the other clients find
// relevant, against one who clicks at random; or for a credential among others, against one
// who clicks by rank alone: tools that the credential itself has moved to the top do not count
// in its favour.
func (r *relevance) agreements(c *cluster, sums map[reporter]float64) {
	weights := r.weights(c)
	own := map[reporter][]float64{} // part of the odds of each tool
	for i := range c.Sessions {
		s := &c.Sessions[i]
		client := r.client(s)
		if own[client] == nil {
			own[client] = make([]float64, len(c.Tools))
		}
		for rank, tool := range s.Shown {
			own[client][tool] += weights[i] * s.evidence(rank, tool)
		}
	}
	for i := range c.Sessions {
		s := &c.Sessions[i]
		client := r.client(s)
		for rank, tool := range s.Shown {
			if slices.Contains(s.Used, tool) && !r.broad[c.Tools[tool].ID] {
				odds := r.odds[c.id][tool]
				others := clicked(rank, logistic(odds-own[client][tool]))
				chance := 1 / float64(len(s.Shown))
				if r.apart {
					chance = clicked(rank, logistic(odds-r.evidence[c.id][tool]))
				}
				sums[client] += math.Log(others / chance)
			}
		}
	}
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
