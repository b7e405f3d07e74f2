package ranking

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Bounds of the tools that take part in a search for their use alone.
const (
	maxTop   = 200 // the most used
	maxAlike = 50  // used for similar queries
)

// Usage is a tenant's table of usage, prepared for searches. A nil Usage is empty.
type Usage struct {
	table  schema.Usage
	top    []string               // the most used tools, most used first
	asked  map[string]*QueryTable // queries that tools were used for, by embedding model
	same   *QueryTable            // queries with known outcomes, each under its number
	clicks []map[string]float64   // by number: click log odds by tool
}

// NewUsage prepares a valid table.
func NewUsage(table schema.Usage) *Usage {
	u := &Usage{table: table, asked: map[string]*QueryTable{}}
	ids := slices.SortedFunc(maps.Keys(table.Prior), func(a, b string) int {
		return cmp.Or(cmp.Compare(table.Prior[b], table.Prior[a]), cmp.Compare(a, b))
	})
	u.top = ids[:min(len(ids), maxTop)]
	u.asked[table.Model] = NewQueryTable(table.Asked)
	queries := map[string][]schema.Direction{}
	for i, c := range table.Came {
		queries[strconv.Itoa(i)] = []schema.Direction{c.Query}
		u.clicks = append(u.clicks, c.Tools)
	}
	u.same = NewQueryTable(queries)
	u.table.Asked, u.table.Came = nil, nil // they are in asked, same and clicks
	return u
}

// Used reports whether a tool was ever used, as far as uses are not forgotten.
func (u *Usage) Used(tool string) bool {
	if u == nil {
		return false
	}
	_, used := u.table.Prior[tool]
	return used
}

// For returns the usage from the view of a query with this vector by an embedding model. The
// vector is empty if the query could not be embedded. Queries of other models are not compared.
// Withheld usage keeps only the click log odds.
func (u *Usage) For(model string, query []float32) QueryUsage {
	var out QueryUsage
	if u == nil {
		return out
	}
	if !u.table.Withheld {
		out.prior, out.coUse, out.top = u.table.Prior, u.table.CoUse, u.top
		out.similar = u.asked[model].Similar(query)
	}
	if model == u.table.Model {
		if number, err := strconv.Atoi(u.same.Same(query)); err == nil {
			out.clicks = u.clicks[number]
		}
	}
	return out
}

// QueryUsage is usage as one query sees it. It implements Uses.
type QueryUsage struct {
	prior   map[string]float64 // as schema.Usage has them
	coUse   map[string]map[string]float64
	top     []string
	similar map[string]float64 // by tool, how much alike the nearest query is that it was used for
	clicks  map[string]float64 // by tool, log odds
}

// Prior returns log(1 + uses) of a tool.
func (u QueryUsage) Prior(tool string) float64 { return u.prior[tool] }

// Similar returns how much alike the nearest query is that the tool was used for.
func (u QueryUsage) Similar(tool string) float64 { return u.similar[tool] }

// ClickLogOdds returns the click log odds of a tool for the same query.
func (u QueryUsage) ClickLogOdds(tool string) float64 { return u.clicks[tool] }

// CoUse returns the expected number of uses of the tool together with the other tools of front:
// the sum, over these, of the share of their uses that was together with it. Adding half a use for
// each keeps a single use from deciding.
func (u QueryUsage) CoUse(tool string, front []string) float64 {
	var shares float64
	for _, other := range front {
		if together := u.coUse[other][tool]; together > 0 && other != tool {
			uses := max(together, u.prior[other]) // a full table may lack the prior
			shares += math.Expm1(together) / (math.Expm1(uses) + 0.5)
		}
	}
	return shares
}

// Tools returns the tools that usage may lift into the answer from any depth, as far as the
// weights consider it: tools used for similar queries, tools used for the same query, and the most
// used ones.
func (u QueryUsage) Tools(w *fusion.Features) []string {
	var ids []string
	if w[fusion.UsageSimilar] != 0 {
		ids = slices.SortedFunc(maps.Keys(u.similar), func(a, b string) int {
			return cmp.Or(cmp.Compare(u.similar[b], u.similar[a]), cmp.Compare(a, b))
		})
		ids = ids[:min(len(ids), maxAlike)]
		for _, id := range slices.Sorted(maps.Keys(u.clicks)) {
			if u.clicks[id] > 0 && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	if w[fusion.UsagePrior] == 0 && w[fusion.UsageCoUse] == 0 {
		return ids
	}
	for _, id := range u.top {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
