package ranking

import (
	"cmp"
	"math"
	"slices"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// ByClicks reorders a ranking by the clicks of users on the results of the same query. The prior odds of rank r are 1/r, and the click log odds of a tool are added
// to their logarithm. So a tool that was used comes up from any depth, and a tool that
// was passed over gives its place to a tool that was never shown. Scores and features stay
// as they are. Weights that ignore usage leave the order as it is.
func ByClicks(rs []Ranked, m *fusion.Model, uses UsageStats) []Ranked {
	w := &m.Features
	if uses == nil || w[fusion.UsagePrior] == 0 && w[fusion.UsageCoUse] == 0 && w[fusion.UsageSimilar] == 0 {
		return rs
	}
	type place struct {
		at   int
		odds float64
	}
	places := make([]place, len(rs))
	for i := range rs {
		places[i] = place{i, -math.Log(float64(i + 1))}
		if rs[i].Kind == schema.KindTool {
			places[i].odds += uses.ClickLogOdds(rs[i].ID)
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(b.odds, a.odds) })
	out := make([]Ranked, len(rs))
	for i, p := range places {
		out[i] = rs[p.at]
	}
	return out
}
