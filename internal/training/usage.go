package training

import (
	"math"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/asked"
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
	queries  map[string][]schema.Direction // that a tool was used for, in their order
	asked    map[string][]schema.Direction // those that stand for all
	table    *asked.Table                  // of asked
}

func countUses(samples []evaluation.Sample) *counts {
	c := &counts{
		uses: map[string]float64{}, together: map[string]map[string]float64{},
		queries: map[string][]schema.Direction{}, asked: map[string][]schema.Direction{},
	}
	for i := range samples {
		used := relevant(&samples[i].Query)
		query := schema.NewDirection(samples[i].Vector)
		for _, a := range used {
			c.uses[a] += usesOf(&samples[i], a)
			if query != nil {
				c.queries[a] = append(c.queries[a], query)
			}
			for _, b := range used {
				if a == b {
					continue
				}
				if c.together[a] == nil {
					c.together[a] = map[string]float64{}
				}
				c.together[a][b] += min(usesOf(&samples[i], a), usesOf(&samples[i], b))
			}
		}
	}
	for id, queries := range c.queries {
		c.asked[id] = exemplars(queries, nil).Vectors()
	}
	c.table = asked.NewTable(c.asked)
	return c
}

// usesOf is how often a tool was used for a query that it is relevant to.
func usesOf(s *evaluation.Sample, tool string) float64 {
	if uses, ok := s.Uses[tool]; ok {
		return uses
	}
	return 1
}

// exemplars returns the queries that stand for all but one, which is nil for
// none.
func exemplars(queries []schema.Direction, but schema.Direction) (e asked.Exemplars) {
	for _, query := range queries {
		if but != nil && slices.Equal(query, but) {
			but = nil
			continue
		}
		e = e.Add(query, time.Time{}, time.Hour) // all at the same time: nothing fades
	}
	return e
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
	sample  *evaluation.Sample
	own     []string           // what the query used
	similar map[string]float64 // by tool, how much alike the nearest query that it was used for is
}

// without returns the uses in all queries but that of s. What the query used is
// compared with the queries that would stand for the others alone.
func (c *counts) without(s *evaluation.Sample) others {
	o := others{c, s, relevant(&s.Query), c.table.Similar(s.Vector)}
	if o.similar == nil {
		return o
	}
	query := schema.NewDirection(s.Vector)
	for _, tool := range o.own {
		o.similar[tool] = 0
		for _, x := range exemplars(c.queries[tool], query) {
			o.similar[tool] = max(o.similar[tool], asked.Alike(x.Vector.Cosine(query)))
		}
	}
	return o
}

// Prior returns log(1 + uses) of a tool.
func (o others) Prior(tool string) float64 {
	uses := o.uses[tool]
	if slices.Contains(o.own, tool) {
		uses -= usesOf(o.sample, tool)
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
			uses -= usesOf(o.sample, other)
			if slices.Contains(o.own, tool) {
				together -= min(usesOf(o.sample, other), usesOf(o.sample, tool))
			}
		}
		if together > 0 && other != tool {
			shares += together / (uses + 0.5)
		}
	}
	return shares
}

// Similar returns how much alike the nearest of the other queries is that a tool was
// used for.
func (o others) Similar(tool string) float64 { return o.similar[tool] }

// Came returns 0: what a query was answered with is what is learned.
func (o others) Came(string) float64 { return 0 }

// usage returns the counts as searches read them, nil where nothing is counted.
func (c *counts) usage() *schema.Usage {
	if c == nil {
		return nil
	}
	u := &schema.Usage{
		Schema: schema.UsageSchema, Tenant: tenant.Default,
		Prior: map[string]float64{}, CoUse: map[string]map[string]float64{}, Asked: c.asked,
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
