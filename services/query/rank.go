package query

import (
	"cmp"
	"math"
	"slices"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxBringers bounds the tools named beside an agent.
const maxBringers = 10

// ranked is a candidate with its fused score.
type ranked struct {
	index.Candidate
	score, penalty float64
}

// fuse adds the usage features to the candidates, scores them and orders them
// best first. Front runners are the best by everything but co-use.
func fuse(candidates []index.Candidate, m *fusion.Model, u *usage) []ranked {
	out := make([]ranked, 0, len(candidates))
	for _, c := range candidates {
		if !sound(&c) {
			continue
		}
		r := ranked{Candidate: c}
		r.Features[fusion.UsagePrior] = u.prior(c.Ref)
		r.Features[fusion.UsageCoUse] = 0
		out = append(out, r)
	}
	order(out, m)
	if u.hasPairs() {
		front := tools(out, fusion.FrontRunners)
		for i := range out {
			out[i].Features[fusion.UsageCoUse] = u.coUse(out[i].Ref, front)
		}
		order(out, m)
	}
	return out
}

// sound reports whether everything about a candidate is a number: what is not
// can be neither ordered nor written down.
func sound(c *index.Candidate) bool {
	sum := c.Similarity
	for _, x := range c.Features {
		sum += x * 0 // NaN for NaN and infinities
	}
	for _, m := range c.Matches {
		sum += m.Score * 0
	}
	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}

// order scores rs and puts the best first.
func order(rs []ranked, m *fusion.Model) {
	for i := range rs {
		rs[i].score, rs[i].penalty = m.Score(&rs[i].Features, rs[i].Matches)
	}
	slices.SortFunc(rs, compare)
}

// compare orders by score, then by id, both descending, as trec_eval does: an
// order that no accident of storage decides.
func compare(a, b ranked) int {
	return cmp.Or(
		fusion.Order(a.score, a.ID, b.score, b.ID),
		cmp.Compare(b.Kind, a.Kind),
	)
}

// tools returns the ids of the first n tools.
func tools(rs []ranked, n int) []string {
	var ids []string
	for _, r := range rs {
		if r.Kind == schema.KindTool && len(ids) < n {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// pick is one place in an answer: the entity to show and the candidate that
// earned it the place.
type pick struct {
	ref   schema.Ref
	by    *ranked
	tools []string // for an agent, the tools that brought it, best first
}

func pickEntities(rs []ranked) []pick {
	picks := make([]pick, len(rs))
	for i := range rs {
		picks[i] = pick{ref: rs[i].Ref, by: &rs[i]}
	}
	return picks
}

// pickAgents is Algorithm 1 of Tool-to-Agent Retrieval (arXiv 2511.01854):
// down the ranking of tools and agents together, each entity gives way to its
// owner, and an agent stands where it comes first. Tools without an owner
// bring nobody.
func pickAgents(rs []ranked) []pick {
	var picks []pick
	place := map[string]int{}
	for i := range rs {
		owner := ownerOf(&rs[i])
		if owner == "" {
			continue
		}
		at, known := place[owner]
		if !known {
			at = len(picks)
			place[owner] = at
			ref := schema.Ref{Tenant: rs[i].Tenant, Kind: schema.KindAgent, ID: owner}
			picks = append(picks, pick{ref: ref, by: &rs[i]})
		}
		if rs[i].Kind == schema.KindTool && len(picks[at].tools) < maxBringers {
			picks[at].tools = append(picks[at].tools, rs[i].ID)
		}
	}
	return picks
}

func ownerOf(r *ranked) string {
	if r.Kind == schema.KindAgent {
		return r.ID
	}
	return r.Agent
}
