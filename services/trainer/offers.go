package trainer

import (
	"slices"

	"github.com/toolstream/toolstream/pkg/schema"
)

// position returns where a search showed a tool: its place, or for one that was only named
// beside its copy a number behind all places; -1 if neither.
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

// seen returns the search as its user saw it: a place is that of the copy with events
// where the tool that was shown has none. Other copies with events stand behind all places,
// those without any do not count as shown.
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
	out.acts = r.each(func(positions []int) []int {
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
