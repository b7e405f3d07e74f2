package training

import (
	"math"
	"slices"

	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/schema"
)

// counts are the uses of tools in a set of queries: each relevant tool of a
// query is used once, and once together with each other one.
type counts struct {
	uses     map[string]float64
	together map[string]map[string]float64 // symmetric
}

func countUses(samples []evaluation.Sample) *counts {
	c := &counts{uses: map[string]float64{}, together: map[string]map[string]float64{}}
	for i := range samples {
		used := relevant(&samples[i].Query)
		for _, a := range used {
			c.uses[a]++
			for _, b := range used {
				if a == b {
					continue
				}
				if c.together[a] == nil {
					c.together[a] = map[string]float64{}
				}
				c.together[a][b]++
			}
		}
	}
	return c
}

// relevant returns the ids of a query's relevant tools, each once.
func relevant(q *dataset.Query) []string {
	var ids []string
	for _, label := range q.Labels {
		if label.Relevance > 0 && !slices.Contains(ids, label.ID) {
			ids = append(ids, label.ID)
		}
	}
	return ids
}

// others are the uses in all queries but one: what a search for that one could
// know. It is a ranking.Uses.
type others struct {
	*counts
	own []string // what the query used
}

func (c *counts) without(s *evaluation.Sample) others { return others{c, relevant(&s.Query)} }

// Prior returns log(1 + uses) of a tool.
func (o others) Prior(tool string) float64 {
	uses := o.uses[tool]
	if slices.Contains(o.own, tool) {
		uses--
	}
	return math.Log1p(max(0, uses))
}

// CoUse returns how often a tool is to be expected to be used together with
// those of front but itself: as a search has it, the sum of the shares of each
// one's uses.
func (o others) CoUse(tool string, front []string) float64 {
	var shares float64
	for _, other := range front {
		together, uses := o.together[other][tool], o.uses[other]
		if slices.Contains(o.own, other) {
			uses--
			if slices.Contains(o.own, tool) {
				together--
			}
		}
		if together > 0 && other != tool {
			shares += together / (uses + 0.5)
		}
	}
	return shares
}

// Similar returns the best cosine to the other queries that a tool was used for.
func (o others) Similar(tool string) float64 { return 0 }

// table returns the counts as searches read them, nil where nothing is counted.
func (c *counts) table() *schema.Usage {
	if c == nil {
		return nil
	}
	u := &schema.Usage{
		Schema: schema.UsageSchema, Tenant: tenant.Default,
		Prior: map[string]float64{}, CoUse: map[string]map[string]float64{},
	}
	for id, uses := range c.uses {
		u.Prior[id] = math.Log1p(uses)
	}
	for id, others := range c.together {
		u.CoUse[id] = map[string]float64{}
		for other, uses := range others {
			u.CoUse[id][other] = math.Log1p(uses)
		}
	}
	return u
}
