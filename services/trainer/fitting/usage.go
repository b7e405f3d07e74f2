package fitting

import (
	"math"
	"slices"

	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Usage counts the relevant tools of the samples as used, by their Uses, and returns the
// table that searches rank by.
func Usage(samples []Sample) *schema.Usage { return countUses(samples).usage() }

// counts are the uses of the relevant tools of samples: of each tool, and of each two
// tools together.
type counts struct {
	uses     map[string]float64
	together map[string]map[string]float64 // symmetric
	queries  map[string][]use              // by tool, in the order of the samples
	asked    map[string][]schema.Direction // by tool, its prototypes
	table    *ranking.QueryTable           // of asked
}

// use is a query that a tool was used for.
type use struct {
	query schema.Direction
	uses  float64
}

func countUses(samples []Sample) *counts {
	c := &counts{
		uses: map[string]float64{}, together: map[string]map[string]float64{},
		queries: map[string][]use{}, asked: map[string][]schema.Direction{},
	}
	for i := range samples {
		s := &samples[i]
		query := schema.NewDirection(s.Vector)
		for _, a := range s.Relevant {
			c.uses[a] += s.usesOf(a)
			if query != nil && !slices.Contains(s.Hints, a) {
				c.queries[a] = append(c.queries[a], use{query, s.usesOf(a)})
			}
			for _, b := range s.Relevant {
				if a == b {
					continue
				}
				if c.together[a] == nil {
					c.together[a] = map[string]float64{}
				}
				c.together[a][b] += min(s.usesOf(a), s.usesOf(b))
			}
		}
	}
	for id, queries := range c.queries {
		c.asked[id] = prototypes(queries, nil)
	}
	c.table = ranking.NewQueryTable(c.asked)
	return c
}

// prototypes returns representative queries, leaving out the query except: similar queries are
// merged, and above schema.MaxAsked the least used query is dropped, the oldest first.
func prototypes(queries []use, except schema.Direction) []schema.Direction {
	var kept []use
	for _, q := range queries {
		if except != nil && slices.Equal(q.query, except) {
			except = nil
			continue
		}
		if same := slices.IndexFunc(kept, func(k use) bool { return k.query.Cosine(q.query) >= ranking.Same }); same >= 0 {
			kept[same].uses += q.uses
			continue
		}
		if kept = append(kept, q); len(kept) > schema.MaxAsked {
			least := 0
			for i := range kept[:schema.MaxAsked] { // the newest one stays
				if kept[i].uses < kept[least].uses {
					least = i
				}
			}
			kept = slices.Delete(kept, least, least+1)
		}
	}
	out := make([]schema.Direction, len(kept))
	for i := range kept {
		out[i] = kept[i].query
	}
	return out
}

// others are the uses in all other samples, which a search for the sample could know. It
// implements ranking.UsageStats.
type others struct {
	*counts
	sample  *Sample
	similar map[string]float64 // by tool
}

// without returns the uses in all samples but s.
func (c *counts) without(s *Sample) others {
	o := others{c, s, c.table.Similar(s.Vector)}
	if o.similar == nil {
		return o
	}
	query := schema.NewDirection(s.Vector)
	for _, tool := range s.Relevant {
		o.similar[tool] = 0
		for _, p := range prototypes(c.queries[tool], query) {
			o.similar[tool] = max(o.similar[tool], ranking.Similarity(p.Cosine(query)))
		}
	}
	return o
}

// own is how often the left out sample used a tool.
func (o others) own(tool string) float64 {
	if slices.Contains(o.sample.Relevant, tool) {
		return o.sample.usesOf(tool)
	}
	return 0
}

// Prior returns log(1 + uses) of a tool.
func (o others) Prior(tool string) float64 { return math.Log1p(max(0, o.uses[tool]-o.own(tool))) }

// CoUse returns the sum, over the tools of front but itself, of the share of their uses
// that was together with the tool.
func (o others) CoUse(tool string, front []string) (shares float64) {
	for _, other := range front {
		together := o.together[other][tool] - min(o.own(other), o.own(tool))
		if together > 0 && other != tool {
			shares += together / (o.uses[other] - o.own(other) + 0.5)
		}
	}
	return shares
}

// Similar returns how much alike the nearest of the other queries is that the tool was
// used for.
func (o others) Similar(tool string) float64 { return o.similar[tool] }

// ClickLogOdds returns 0: the outcome of the query itself is the label.
func (o others) ClickLogOdds(string) float64 { return 0 }

// usage returns the counts in the form for searches, nil if nothing is counted.
func (c *counts) usage() *schema.Usage {
	if c == nil {
		return nil
	}
	u := &schema.Usage{
		Schema: schema.UsageSchema, Tenant: identity.DefaultTenant,
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
