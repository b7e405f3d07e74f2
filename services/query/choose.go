package query

import (
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// enoughCovered is the coverage from which on a provider is taken to be able to do
// all that a query needs: three quarters of what the best tools of all reach.
const enoughCovered = 0.75

// choose decides between tools and providers (rank auto) by a ranking for each need. It
// finds the provider whose best tools reach most of what the best tools of all reach: a
// need that nothing matches well has little say. Of equal providers the one with the last
// id wins. It also returns the tools for which that provider was chosen, if it was.
func choose(rankings [][]ranking.Ranked, needs []rewritten) (*schema.Chosen, []string) {
	out := &schema.Chosen{Rank: schema.RankTools, Needs: make([]schema.Covered, len(needs))}
	var all float64
	sums, owns := map[string]float64{}, map[string][]*ranking.Ranked{} // by provider; its best tool for each need, nil for none
	for need, ranked := range rankings {
		best := 0.
		for i := range ranked {
			r := &ranked[i]
			if r.Kind == schema.KindProvider {
				continue // only tools can answer a need
			}
			best = max(best, r.Score)
			owner := ranking.Owner(&r.Candidate)
			if owner == "" || r.Score <= 0 {
				continue
			}
			if owns[owner] == nil {
				owns[owner] = make([]*ranking.Ranked, len(rankings))
			}
			if owns[owner][need] == nil { // best first
				owns[owner][need] = r
				sums[owner] += r.Score
			}
		}
		all += best
		out.Needs[need] = schema.Covered{Need: needs[need].text, Best: best}
	}
	for owner, sum := range sums {
		if out.Provider == "" || fusion.Order(sum, owner, sums[out.Provider], out.Provider) < 0 {
			out.Provider = owner
		}
	}
	if out.Provider == "" {
		out.Why = "nothing that was found has an owner"
		return out, nil
	}
	var tools []string
	for need, r := range owns[out.Provider] {
		if r == nil {
			continue
		}
		out.Needs[need].Tool, out.Needs[need].Score = r.ID, r.Score
		if !slices.Contains(tools, r.ID) {
			tools = append(tools, r.ID)
		}
	}
	out.Coverage = sums[out.Provider] / all
	if out.Coverage < enoughCovered {
		out.Why = fmt.Sprintf("no provider covers %.2f of the %d needs; %s covers most, %.2f", enoughCovered, len(needs), out.Provider, out.Coverage)
		return out, nil
	}
	out.Rank = schema.RankProviders
	out.Why = fmt.Sprintf("tools of %s cover %.2f of the %d needs, at least %.2f", out.Provider, out.Coverage, len(needs), enoughCovered)
	return out, tools
}
