// Package ranking orders candidates, with the exact scores of their texts, for a search's answer.
// It adds features of their use and of their relations to each other.
//
// Seven features need the other candidates. A tool that was used together with the front runners
// is likely to be wanted with them. A tool whose provider has another high-ranking tool is in the
// right place. A tool that answers one part of a request best is wanted, however short that part
// is. A tool that alone answers with a parameter of the front runners, such as a token or an id,
// has to be called before them, though no request asks for it. A tool whose name is in the query
// stands out, the more the less the query contains of other names. If the query names a provider,
// its tools are meant. And if providers are ranked, a provider's own description counts for its
// tools.
package ranking

import (
	"cmp"
	"slices"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// UsageStats returns the use of tools from the view of one query.
type UsageStats interface {
	// Prior returns log(1 + uses).
	Prior(tool string) float64
	// CoUse returns the sum over the other tools of front of the share of their
	// uses that was together with the tool.
	CoUse(tool string, front []string) float64
	// Similar returns how much alike the nearest query is that the tool was used
	// for, from 0 to 1.
	Similar(tool string) float64
	// ClickLogOdds returns the log odds, by the clicks of users on results of the
	// same query, that the tool is relevant; 0 if nothing is known.
	ClickLogOdds(tool string) float64
}

// Suppliers has the suppliers of the parameters of each tool, each once.
type Suppliers map[string][]index.Supplier

// Signals are the inputs of ranking other than the texts. Either may be nil.
type Signals struct {
	Usage     UsageStats
	Suppliers Suppliers
	// Recorded means that a search recorded the features that relate the candidates to each other.
	// All but RelatedOwner are kept if Suppliers is nil.
	Recorded bool
	// Providers means that providers are ranked, by themselves and by their tools.
	Providers bool
}

// Ranked is a candidate with its fused score. The penalty is part of the score.
type Ranked struct {
	index.Candidate
	Score, Penalty float64
	Unit           float64 // of the penalty: see fusion.Model.Unit
	Best           float64 // score of the ranking
	Lead           float64 // of the score over the mean of the tail: see Confidence
}

// Rank returns the candidates with all features, scored by the model and best
// first. Candidates with a score that is not a number can be neither ordered
// nor written down: they are left out.
func Rank(candidates []index.Candidate, m *fusion.Model, s Signals) []Ranked {
	rs := sound(candidates)
	relate(rs, m, s)
	rs = ordered(rs, m)
	setLead(rs)
	return rs
}

// Features returns the features that Rank scores the candidates by, in the order
// of the candidates. All of them are sound.
func Features(candidates []index.Candidate, m *fusion.Model, s Signals) []fusion.Features {
	rs := make([]Ranked, len(candidates))
	for i, c := range candidates {
		rs[i].Candidate = c
	}
	relate(rs, m, s)
	out := make([]fusion.Features, len(rs))
	for i := range rs {
		out[i] = rs[i].Features
	}
	return out
}

// Front returns the ids of the n tools that the model ranks first by their texts
// and uses, before any of them is related to the others.
func Front(candidates []index.Candidate, m *fusion.Model, uses UsageStats, n int) []string {
	rs := sound(candidates)
	alone(rs, m, uses)
	return tools(front(rs, n))
}

// sound returns the candidates whose features and matches are all finite numbers.
func sound(candidates []index.Candidate) []Ranked {
	out := make([]Ranked, 0, len(candidates))
	for i := range candidates {
		c := &candidates[i]
		sum := c.Similarity * 0
		for _, x := range c.Features {
			sum += x * 0 // NaN for NaN and infinities
		}
		for _, m := range c.Matches {
			sum += m.Score * 0
		}
		if sum == 0 {
			out = append(out, Ranked{Candidate: *c})
		}
	}
	return out
}

// alone sets the features that do not depend on the other candidates, clears
// the others and scores by the remaining ones, without a penalty.
func alone(rs []Ranked, m *fusion.Model, uses UsageStats) {
	for i := range rs {
		r := &rs[i]
		for f := range r.Features {
			if fusion.Feature(f).Related() {
				r.Features[f] = 0
			}
		}
		r.Features[fusion.UsagePrior], r.Features[fusion.UsageSimilar] = 0, 0
		if uses != nil && r.Kind == schema.KindTool {
			r.Features[fusion.UsagePrior] = uses.Prior(r.ID)
			r.Features[fusion.UsageSimilar] = uses.Similar(r.ID)
		}
		r.Score = m.Linear(&r.Features)
	}
}

// compared is how many of the best tools relate the others to them at most: as many as
// every search finds.
const compared = 100

// relate sets all features that the index does not know.
func relate(rs []Ranked, m *fusion.Model, s Signals) {
	var recorded []fusion.Features
	if s.Suppliers == nil && s.Recorded {
		for i := range rs {
			recorded = append(recorded, rs[i].Features)
		}
	}
	alone(rs, m, s.Usage)
	most := highest(rs)
	setOwners(rs, most)
	setNeeds(rs, most)
	setKnown(rs, most)
	best := front(rs, compared)
	setNames(rs, best[:min(len(best), namesCompared)])
	setNamedProviders(rs, best)
	if s.Providers {
		setProviders(rs)
	}
	first := tools(best[:min(len(best), max(fusion.Supplied, fusion.FrontRunners))])
	if s.Suppliers != nil {
		setSupply(rs, first[:min(len(first), fusion.Supplied)], s.Suppliers)
	}
	for i := range recorded {
		for _, f := range []fusion.Feature{fusion.RelatedSupply, fusion.RelatedNeed, fusion.RelatedName, fusion.RelatedProvider, fusion.RelatedProviderName, fusion.RelatedKnown, fusion.RelatedRare} {
			rs[i].Features[f] = recorded[i][f]
		}
	}
	if s.Usage != nil {
		front := first[:min(len(first), fusion.FrontRunners)]
		for i := range rs {
			if rs[i].Kind == schema.KindTool {
				rs[i].Features[fusion.UsageCoUse] = s.Usage.CoUse(rs[i].ID, front)
			}
		}
	}
}

// front returns the n tools with the highest scores, best first.
func front(rs []Ranked, n int) []*Ranked {
	best := make([]*Ranked, 0, n+1)
	for i := range rs {
		r := &rs[i]
		if r.Kind != schema.KindTool {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, r, func(a, b *Ranked) int { return fusion.Order(a.Score, a.ID, b.Score, b.ID) })
		if at < n {
			best = slices.Insert(best, at, r)
			best = best[:min(len(best), n)]
		}
	}
	return best
}

func tools(rs []*Ranked) []string {
	ids := make([]string, len(rs))
	for i, r := range rs {
		ids[i] = r.ID
	}
	return ids
}

// setOwners sets the score of the owner's best tool as a share of the best score. A tool without an
// owner is its own owner, so that it is not behind. If no tool has an owner, the feature would
// only repeat the score and stays 0.
func setOwners(rs []Ranked, most float64) {
	best := map[string]float64{}
	for i := range rs {
		r := &rs[i]
		if owner := Owner(&r.Candidate); owner != "" {
			best[owner] = max(best[owner], r.Score)
		}
	}
	if most <= 0 || len(best) == 0 {
		return
	}
	for i := range rs {
		r := &rs[i]
		score := max(0, r.Score)
		if owner := Owner(&r.Candidate); owner != "" {
			score = best[owner]
		}
		r.Features[fusion.RelatedOwner] = score / most
	}
}

// leastKnown is the least that a name is worth: about the score of a tool that matches well. A name
// written as one word may match nothing else.
const leastKnown = 10

// setKnown sets what the best score is worth to a candidate that the query names, or that holds
// words that few have. The cube leaves words of short queries: a long request has rare words by
// chance.
func setKnown(rs []Ranked, most float64) {
	for i := range rs {
		r := &rs[i]
		r.Features[fusion.RelatedKnown] = max(most, leastKnown) * r.Known
		r.Features[fusion.RelatedRare] = most * r.Rare * r.Rare * r.Rare
	}
}

// highest returns the best score, at least 0.
func highest(rs []Ranked) (most float64) {
	for i := range rs {
		most = max(most, rs[i].Score)
	}
	return most
}

// setNeeds sets the share of the best score that a candidate reaches by the need that it answers
// best, compared with the best answer to that need. So a need put in few or common words counts
// like the others. A single need would only repeat the score.
func setNeeds(rs []Ranked, most float64) {
	var best []float64
	for i := range rs {
		best = append(best, make([]float64, max(0, len(rs[i].Needs)-len(best)))...)
		for n, score := range rs[i].Needs {
			best[n] = max(best[n], score)
		}
	}
	if len(best) < 2 {
		return
	}
	for i := range rs {
		for n, score := range rs[i].Needs {
			if best[n] > 0 {
				r := &rs[i].Features[fusion.RelatedNeed]
				*r = max(*r, most*score/best[n])
			}
		}
	}
}

// Owner returns the provider that a candidate belongs to, or is; empty for none.
func Owner(c *index.Candidate) string {
	if c.Kind == schema.KindProvider {
		return c.ID
	}
	return c.Provider
}

// setSupply sets how far the first tools with a parameter that a candidate supplies are ahead of
// it, as shares of the best score, in the mean over all first tools. A supplier among them is
// lifted little, so that it does not push down the tool that the request asks for.
func setSupply(rs []Ranked, front []string, suppliers Suppliers) {
	tools := make(map[string]*Ranked, len(rs))
	var most float64
	for i := range rs {
		if rs[i].Kind == schema.KindTool {
			tools[rs[i].ID] = &rs[i]
			most = max(most, rs[i].Score)
		}
	}
	if most <= 0 {
		return
	}
	for _, id := range front {
		for _, s := range suppliers[id] {
			if supplier := tools[s.ID]; supplier != nil {
				ahead := max(0, tools[id].Score-max(0, supplier.Score)) / most // at most 1: a score below 0 counts as 0
				supplier.Features[fusion.RelatedSupply] += s.Share * ahead / float64(len(front))
			}
		}
	}
}

// ordered scores rs and returns them best first: equal scores by id, both descending,
// as trec_eval does, an order that no accident of storage decides. They are large, and
// moved once.
func ordered(rs []Ranked, m *fusion.Model) []Ranked {
	for i := range rs {
		rs[i].Score = m.Linear(&rs[i].Features)
	}
	unit, best := m.Unit(highest(rs)), make([]*Ranked, len(rs))
	for i := range rs {
		best[i], rs[i].Unit = &rs[i], unit
		rs[i].Score, rs[i].Penalty = m.Score(&rs[i].Features, rs[i].Matches, unit)
	}
	slices.SortFunc(best, func(a, b *Ranked) int {
		return cmp.Or(fusion.Order(a.Score, a.ID, b.Score, b.ID), cmp.Compare(b.Kind, a.Kind))
	})
	out := make([]Ranked, len(rs))
	for i, r := range best {
		out[i] = *r
	}
	return out
}
