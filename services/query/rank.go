package query

import (
	"slices"

	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxBringers bounds the tools named beside an agent.
const maxBringers = 10

// pick is one place in an answer: the entity to show and the candidate that
// earned it the place.
type pick struct {
	ref     schema.Ref
	by      *ranking.Ranked
	step    int              // from 1, of several, the one whose candidate it is
	brought []schema.Bringer // for an agent, the tools that brought it, best first

	explored   bool
	propensity float64 // of standing at its place; 0 where chance had no say
}

// picksOf returns what a ranking shows.
func picksOf(rs []ranking.Ranked, rank schema.Rank) []pick {
	if rank == schema.RankAgents {
		return pickAgents(rs)
	}
	return pickEntities(rs)
}

func pickEntities(rs []ranking.Ranked) []pick {
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
func pickAgents(rs []ranking.Ranked) []pick {
	var picks []pick
	place := map[string]int{}
	for i := range rs {
		owner := ranking.Owner(&rs[i].Candidate)
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
		if rs[i].Kind == schema.KindTool {
			picks[at].bring(schema.Bringer{ID: rs[i].ID, Rank: i + 1, Score: rs[i].Score})
		}
	}
	return picks
}

// bring notes a tool that brings the agent, once.
func (p *pick) bring(b schema.Bringer) {
	known := slices.ContainsFunc(p.brought, func(o schema.Bringer) bool { return o.ID == b.ID })
	if !known && len(p.brought) < maxBringers {
		p.brought = append(p.brought, b)
	}
}

// tools returns the ids of the tools that brought it.
func (p *pick) tools() []string {
	var ids []string
	for _, b := range p.brought {
		ids = append(ids, b.ID)
	}
	return ids
}
