package query

import (
	"context"
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// enoughCovered is the coverage from which on an agent is taken to be able to do
// all that a query needs: three quarters of what the best tools of all reach.
const enoughCovered = 0.75

// decide chooses what is ranked for a request that leaves it open: agents where
// the tools of one of them cover the needs, tools where several agents have to
// work together.
func (s *Service) decide(ctx context.Context, sr *search) error {
	s.settle(ctx, sr)
	sr.req.Rank = schema.RankAgents // as deep as for agents,
	sr.pool = s.pool(sr.req)
	sr.req.Rank = schema.RankTools // but only tools can answer a need
	needs := sr.apart()
	if sr.vectors = s.embed(ctx, sr, textsOf(sr.plan.texts(), slices.Concat(needs, sr.plan.steps(sr.req.Steps)))); sr.vectors == nil {
		sr.vectors = map[string][]float32{} // it is not tried again
	}
	rankings, err := s.rankSteps(ctx, sr, needs)
	if err != nil {
		return err
	}
	c := choose(rankings)
	sr.req.Rank = c.rank()
	if sr.req.Rank == schema.RankAgents {
		sr.leading = c.tools()
	}
	sr.pool = s.pool(sr.req)
	sr.chosen = c.explain(needs, sr.req.Explain)
	return nil
}

// apart returns a plan for each need: a given step, a need that somebody said,
// else a sentence of the query. A clause by itself often says too little of what
// it is about.
func (sr *search) apart() []plan {
	said := len(sr.req.Needs) > 0 || sr.plan.rewrite == schema.RewriteLLM || sr.plan.rewrite == schema.RewriteCache
	if len(sr.req.Steps) > 0 || said {
		return sr.plan.steps(sr.req.Steps)
	}
	if sentences := text.Sentences(sr.plan.query); len(sentences) <= schema.MaxNeeds {
		return sr.plan.steps(sentences)
	}
	return sr.plan.steps(text.Clauses(sr.plan.query)) // a few, however long the query is
}

// choice is the agent whose tools cover most of the needs.
type choice struct {
	agent    string
	coverage float64
	own      []*ranking.Ranked // its best tool for each need, nil for none
	best     []float64         // score of the best tool of all for each need
}

// choose finds the agent of which the best tools for each need reach most of
// what the best tools of all reach: a need that nothing matches well has little
// say. Equal ones are in the order of ids, descending.
func choose(rankings [][]ranking.Ranked) choice {
	var c choice
	var all float64
	sums, owns := map[string]float64{}, map[string][]*ranking.Ranked{}
	for need, ranked := range rankings {
		c.best = append(c.best, 0)
		for i := range ranked {
			r := &ranked[i]
			if r.Kind == schema.KindAgent {
				continue // only tools can answer a need
			}
			c.best[need] = max(c.best[need], r.Score)
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
		all += c.best[need]
	}
	for owner, sum := range sums {
		if c.agent == "" || fusion.Order(sum, owner, sums[c.agent], c.agent) < 0 {
			c.agent = owner
		}
	}
	if c.agent != "" {
		c.own, c.coverage = owns[c.agent], sums[c.agent]/all
	}
	return c
}

// tools are the chosen agent's best ones, by their ids.
func (c *choice) tools() (ids []string) {
	for _, r := range c.own {
		if r != nil && !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

func (c *choice) rank() schema.Rank {
	if c.coverage >= enoughCovered {
		return schema.RankAgents
	}
	return schema.RankTools
}

// explain says what was chosen and why; with every need if that is asked for.
func (c *choice) explain(needs []plan, each bool) *schema.Chosen {
	out := &schema.Chosen{Rank: c.rank(), Agent: c.agent, Coverage: c.coverage}
	switch {
	case c.agent == "":
		out.Why = "nothing that was found has an owner"
	case out.Rank == schema.RankAgents:
		out.Why = fmt.Sprintf("tools of %s cover %.2f of the %d needs, at least %.2f", c.agent, c.coverage, len(needs), enoughCovered)
	default:
		out.Why = fmt.Sprintf("no agent covers %.2f of the %d needs; %s covers most, %.2f", enoughCovered, len(needs), c.agent, c.coverage)
	}
	for i, need := range needs {
		if !each {
			break
		}
		covered := schema.Covered{Need: need.query, Best: c.best[i]}
		if c.agent != "" && c.own[i] != nil {
			covered.Tool, covered.Score = c.own[i].ID, c.own[i].Score
		}
		out.Needs = append(out.Needs, covered)
	}
	return out
}

// lead puts the agent first that was found to do for all of the query.
func lead(picks []pick, chosen *schema.Chosen) []pick {
	if chosen == nil || chosen.Rank != schema.RankAgents {
		return picks
	}
	at := slices.IndexFunc(picks, func(p pick) bool { return p.ref.Kind == schema.KindAgent && p.ref.ID == chosen.Agent })
	if at <= 0 {
		return picks
	}
	return slices.Concat(picks[at:at+1], picks[:at], picks[at+1:])
}
