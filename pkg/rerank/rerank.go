package rerank

import (
	"cmp"
	"math"
	"slices"
)

// Item is one tool of a ranking.
type Item struct {
	ID     string
	Owner  string    // empty: the tool is its own
	Score  float64   // of the ranking; the algorithms take calibrated ones
	Seen   bool      // whether its owner is known from labels or feedback
	Needs  []float64 // scores for each need of the query by itself; nil if unknown
	Vector []float32 // its embedding, of unit length; nil if unknown
	Cut    bool      // it is not reordered, only passed
}

// owner returns the owner of the tool, or the tool itself without one: ids of tools and owners
// are kept apart.
func (it *Item) owner() string {
	if it.Owner == "" {
		return "\x00" + it.ID
	}
	return it.Owner
}

// Why is the reason of a tool's place.
type Why string

// The reasons of a place.
const (
	ClearOwner Why = "clear_owner"    // its owner has a tool that is clearly relevant
	Extended   Why = "extended_list"  // the same for an unseen owner, from beyond the reordered tools
	OtherOwner Why = "other_owner"    // behind the tools of clear owners
	Front      Why = "component"      // among the first of the tools that are connected with it
	Beyond     Why = "over_component" // behind them: enough that are connected with it come first
	Cut        Why = "truncated"      // beyond the reordered tools
)

// Place is a place in a new order: the old position of its item, and the reason.
type Place struct {
	At  int
	Why Why
}

// Algorithm is a way to reorder.
type Algorithm string

// The algorithms of arXiv 2403.06551, and none.
const (
	None   Algorithm = ""
	Single Algorithm = "single" // Algorithm 1
	Multi  Algorithm = "multi"  // Algorithm 2
)

// calibration is logistic in a score's share of the best one: 0.5 at two thirds
// of it and 0.85 at 19 twentieths.
const (
	halfAt = 2.0 / 3
	slope  = 6.122
)

// Calibrate returns a score as a value from 0 to 1 that thresholds can be compared
// with, by its share of the best score of the ranking. Neither fused scores nor scores of
// cross-encoders have a fixed scale: a sure answer gets .8 from one model and .02 from another.
// If the best score is not above zero, nothing is relevant.
func Calibrate(score, best float64) float64 {
	if best <= 0 {
		return 0
	}
	return 1 / (1 + math.Exp(-slope*(score/best-halfAt)))
}

// Keeps is the adaptive truncation: it reports whether a tool at a position, from 0, is
// reordered. Seen tools are among the first KeepSeen and unseen ones among the first
// KeepUnseen.
func (c Config) Keeps(at int, seen bool) bool {
	if seen {
		return at < c.KeepSeen
	}
	return at < c.KeepUnseen
}

// clear returns the owners that answer the query according to Algorithm 1: the owner of the
// first tool, and every owner with a clearly relevant tool.
func (c Config) clear(items []Item) map[string]bool {
	owners := map[string]bool{}
	for i := range items {
		if i == 0 || !items[i].Cut && items[i].Score >= c.Clear {
			owners[items[i].owner()] = true
		}
	}
	return owners
}

// Unseen returns the clear owners, in the order of their first tools, whose tools score too low
// for lack of examples: all tools of such an owner take part in Algorithm 1, not only the tools
// that were found.
func (c Config) Unseen(items []Item) []string {
	var owners []string
	clear := c.clear(items)
	for i := range items {
		it := &items[i]
		if clear[it.owner()] && !it.Seen && !it.Cut && it.Owner != "" && !slices.Contains(owners, it.Owner) {
			owners = append(owners, it.Owner)
		}
	}
	return owners
}

// Single is Algorithm 1, for queries that one owner answers: the tools of clear owners
// come first, by their scores, then the others, as far as scores allow. Items are in the order of the ranking;
// those from the position extended on are the extended list, tools of Unseen owners.
func (c Config) Single(items []Item, extended int) []Place {
	clear := c.clear(items[:extended])
	var front, rest []Place
	for i := range items {
		switch {
		case i >= extended:
			front = append(front, Place{i, Extended})
		case items[i].Cut:
			rest = append(rest, Place{i, Cut})
		case clear[items[i].owner()]:
			front = append(front, Place{i, ClearOwner})
		default:
			rest = append(rest, Place{i, OtherOwner})
		}
	}
	slices.SortStableFunc(front, func(a, b Place) int { return cmp.Compare(items[b.At].Score, items[a.At].Score) })
	return within(items, append(front, rest...))
}

// Multi is Algorithm 2, for queries that need several owners: tools of one
// owner, or alike, are connected, and of each connected component the best
// PerComponent come first, as far as scores allow. Both parts stay in the order of the
// ranking.
func (c Config) Multi(items []Item) []Place {
	component := c.components(items)
	taken := make([]int, len(items))
	var front, rest []Place
	for i := range items {
		taken[component[i]]++
		switch {
		case items[i].Cut:
			front = append(front, Place{i, Cut})
		case taken[component[i]] <= c.PerComponent:
			front = append(front, Place{i, Front})
		default:
			rest = append(rest, Place{i, Beyond})
		}
	}
	return within(items, append(front, rest...))
}

// clearly is the least difference of calibrated scores that is clear: the one between the best
// tool and a tool with three quarters of its score.
const clearly = 0.25

// within returns the wanted order, changed so that nothing is behind an item with a clearly
// lower score. An item that leaves the first k gives way to items of about the same score.
func within(items []Item, wanted []Place) []Place {
	byScore := slices.Clone(wanted)
	slices.SortStableFunc(byScore, func(a, b Place) int { return cmp.Compare(items[b.At].Score, items[a.At].Score) })
	order, placed := make([]Place, 0, len(wanted)), make([]bool, len(items))
	for _, best := range byScore {
		for !placed[best.At] { // the best of the remaining items
			for placed[wanted[0].At] {
				wanted = wanted[1:]
			}
			next := slices.IndexFunc(wanted, func(p Place) bool {
				return !placed[p.At] && items[p.At].Score >= items[best.At].Score-clearly
			})
			order, placed[wanted[next].At] = append(order, wanted[next]), true
		}
	}
	return order
}

// components returns for each position the first position of its component. Items that are not
// reordered belong to no component.
func (c Config) components(items []Item) []int {
	root := make([]int, len(items))
	for i := range items {
		root[i] = i
		for j := range i {
			if root[i] == root[j] || items[i].Cut || items[j].Cut || items[i].owner() != items[j].owner() && cosine(items[i].Vector, items[j].Vector) <= c.Alike {
				continue
			}
			from, to := max(root[i], root[j]), min(root[i], root[j])
			for k := range i + 1 {
				if root[k] == from {
					root[k] = to
				}
			}
		}
	}
	return root
}

// cosine of unit vectors is their inner product; 0 if a vector is unknown.
func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var sum float32
	for i := range a {
		sum += a[i] * b[i]
	}
	return float64(sum)
}
