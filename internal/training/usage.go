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

// prior returns log(1 + uses) of a tool, without those of the query that used
// own.
func (c *counts) prior(id string, own []string) float64 {
	uses := c.uses[id]
	if slices.Contains(own, id) {
		uses--
	}
	return math.Log1p(max(0, uses))
}

// coUse returns how often a tool is to be expected to be used together with
// those of front but itself, without the uses of the query that used own: as a
// search has it, the sum of the shares of each one's uses.
func (c *counts) coUse(id string, front, own []string) float64 {
	var shares float64
	for _, other := range front {
		together, uses := c.together[other][id], c.uses[other]
		if slices.Contains(own, other) {
			uses--
			if slices.Contains(own, id) {
				together--
			}
		}
		if together > 0 && other != id {
			shares += together / (uses + 0.5)
		}
	}
	return shares
}

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
