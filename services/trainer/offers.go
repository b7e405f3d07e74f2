package trainer

import (
	"slices"

	"github.com/toolstream/toolstream/pkg/schema"
)

// position returns the position of a tool in the results of a search, -1 if it was not shown.
// Tools only named as another offer of a shown tool are numbered after the shown tools.
func (r *searchRecord) position(tool string) int {
	if at := slices.IndexFunc(r.Shown, func(s schema.Shown) bool { return s.ID == tool }); at >= 0 {
		return at
	}
	next := len(r.Shown)
	for i := range r.Shown {
		also := r.Shown[i].Also
		if at := slices.IndexFunc(also, func(o schema.Offer) bool { return o.ID == tool }); at >= 0 {
			return next + at
		}
		next += len(also)
	}
	return -1
}

// seen returns the search as its user saw it. If only another offer of a shown tool has
// events, it takes the position of that tool; further offers with events follow at the end,
// and offers without events do not count as shown.
func (r *searchRecord) seen() *searchRecord {
	out := *r
	out.Shown = slices.Clone(r.Shown)
	moved := map[int]int{}
	next := len(r.Shown)
	for i, shown := range r.Shown {
		free := !r.touched(i)
		for _, o := range shown.Also {
			if r.touched(next) {
				copied := shown
				copied.ID, copied.Provider = o.ID, o.Provider
				moved[next] = i
				if free {
					out.Shown[i], free = copied, false
				} else {
					moved[next] = len(out.Shown)
					copied.Before = 0
					out.Shown = append(out.Shown, copied)
				}
			}
			next++
		}
	}
	out.acts = r.mapped(func(positions []int) []int {
		positions = slices.Clone(positions)
		for i, at := range positions {
			if to, ok := moved[at]; ok {
				positions[i] = to
			}
		}
		return positions
	})
	return &out
}

// touched reports whether there was an event at a position.
func (r *searchRecord) touched(position int) bool {
	return slices.Contains(r.Used, position) || slices.Contains(r.Rejected, position)
}
