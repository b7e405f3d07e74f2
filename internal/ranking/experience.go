package ranking

import (
	"cmp"
	"math"
	"slices"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Experienced returns a ranking in the order of how likely everything is to be
// right, once it is known what came of searches for the same. One in r is right of
// what ranks at r, and what came of it adds to the log odds. So what was used comes
// up from however deep it stands, and what was looked at and passed over gives its
// place to what nobody has seen. Scores and features stay as they are: nobody learns
// of a question what it was answered with itself. Where the model gives use no say
// nothing moves.
func Experienced(rs []Ranked, m *fusion.Model, uses Uses) []Ranked {
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
			places[i].odds += uses.Came(rs[i].ID)
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(b.odds, a.odds) })
	out := make([]Ranked, len(rs))
	for i, p := range places {
		out[i] = rs[p.at]
	}
	return out
}
