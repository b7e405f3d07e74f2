package ranking

import (
	"cmp"
	"math"
	"slices"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Collapse merges tools and their copies of other providers into one hit each, at the place of the
// first, until there are at least n hits of the best given hits. The hit shows the preferred tool:
// the most used tool, and the first among equally used ones. The others are in Others.
//
// The texts of two providers may differ in the very word that a query asks for. So a tool that is
// clearly behind its copy for this query does not represent it. Such copies of one tool by one
// provider represent each other: else a provider could take many places by adding likely requests
// to copies.
func Collapse(hits []Hit, n int, uses UsageStats) []Hit {
	for size := min(4*n, len(hits)); ; size = min(2*size, len(hits)) {
		rows := collapse(hits[:size], uses)
		if len(rows) >= n || size == len(hits) {
			return append(rows, hits[size:]...)
		}
	}
}

// behind is the share of a copy's score below which a tool is clearly behind it.
const behind = .75

// offer is a hit that may be a copy, or have copies.
type offer struct {
	*Hit
	at   int // among the hits
	tool index.Sketched
	used float64
	of   *offer // a tool that it copies and that is clearly behind it
}

// collapse returns one hit for each tool that represents itself.
func collapse(hits []Hit, uses UsageStats) []Hit {
	offers := offersOf(hits, uses)
	shownAt := make([]int, len(hits)) // the place of the tool that represents each
	for i := range shownAt {
		shownAt[i] = i
	}
	var preferred []*offer
	for _, o := range offers {
		if shown := o.representedBy(preferred); shown == nil {
			preferred = append(preferred, o)
		} else {
			shownAt[o.at] = shown.at
		}
	}
	out := make([]Hit, 0, len(hits))
	row := make([]int, len(hits)) // by place of the tool shown, from 1
	for i := range hits {
		shown := shownAt[i]
		if row[shown] == 0 {
			out = append(out, hits[shown])
			row[shown] = len(out)
		}
		if shown != i {
			r := &out[row[shown]-1]
			r.Others = append(r.Others, hits[i])
		}
	}
	return out
}

// representedBy returns the first of the preferred tools that may be shown in place of o, and nil
// if o represents itself.
func (o *offer) representedBy(preferred []*offer) *offer {
	for _, p := range preferred {
		other := p.By.Provider != o.By.Provider
		copied := other && p.tool.CopiedBy(&o.tool)
		if !copied && (other || o.of == nil || p.of != o.of) {
			continue
		}
		if o.By.Score-p.By.Score <= (1-behind)*math.Abs(o.By.Score) {
			return p
		}
		if copied && o.of == nil {
			o.of = p
		}
	}
	return nil
}

// offersOf returns the tools among hits, the preferred ones first.
func offersOf(hits []Hit, uses UsageStats) []*offer {
	all := make([]offer, len(hits))
	out := make([]*offer, 0, len(hits))
	for i := range hits {
		h := &hits[i]
		if h.Kind != schema.KindTool || len(h.By.Sketch) == 0 {
			continue
		}
		all[i] = offer{Hit: h, at: i, tool: h.By.Sketch.Tool()}
		if uses != nil {
			all[i].used = uses.Prior(h.ID)
		}
		out = append(out, &all[i])
	}
	slices.SortFunc(out, func(a, b *offer) int {
		if order := cmp.Or(cmp.Compare(b.used, a.used), cmp.Compare(a.By.First, b.By.First)); order != 0 {
			return order
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return out
}
