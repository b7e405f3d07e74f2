package rerank

import (
	"math"
	"slices"
)

// Item is one tool of a ranking.
type Item struct {
	ID    string
	Owner string  // empty: the tool is its own
	Score float64 // of the ranking; Calibrate makes it a value from 0 to 1
	Seen  bool    // whether its owner is known from labels or feedback
	Words Words   // that its texts hold, without stop words; nil is not known
}

// owner returns what the tool belongs to, its own where it has none: ids of
// tools and owners are kept apart.
func (it *Item) owner() string {
	if it.Owner == "" {
		return "\x00" + it.ID
	}
	return it.Owner
}

// Why is what put a tool into its place.
type Why string

// The reasons of a place.
const (
	ClearOwner Why = "clear_owner"    // its owner has a tool that is clearly relevant
	Extended   Why = "extended_list"  // the same, of an unseen owner and from beyond what is reordered
	OwnNeed    Why = "own_need"       // not overtaken: it says more of a need than those of clear owners do
	OtherOwner Why = "other_owner"    // behind the tools of clear owners
	Front      Why = "component"      // among the first of the tools that are connected with it
	Beyond     Why = "over_component" // behind them: enough that are connected with it come first
	Cut        Why = "truncated"      // beyond what is reordered
)

// Place is a place in a new order: the position of what takes it, and why.
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

// Calibrate returns the items with scores from 0 to 1, in the same order. Fused
// scores have no scale of their own: each is judged by its share of the best.
// Where the best is not above zero, nothing is relevant and all are 0.
func Calibrate(items []Item) []Item {
	var most float64
	for i := range items {
		most = max(most, items[i].Score)
	}
	out := slices.Clone(items)
	for i := range out {
		if most <= 0 {
			out[i].Score = 0
			continue
		}
		out[i].Score = 1 / (1 + math.Exp(-slope*(out[i].Score/most-halfAt)))
	}
	return out
}

// Truncate is the adaptive truncation: it divides the positions into those that
// are reordered, seen tools among the first KeepSeen and unseen ones among the
// first KeepUnseen, and the rest.
func (c Config) Truncate(items []Item) (kept, cut []int) {
	for i := range items {
		bound := c.KeepUnseen
		if items[i].Seen {
			bound = c.KeepSeen
		}
		if i < bound {
			kept = append(kept, i)
		} else {
			cut = append(cut, i)
		}
	}
	return kept, cut
}

// Single is Algorithm 1, for queries that one owner answers: the tools of
// owners of which one is clearly relevant come first, then the others. Of an
// unseen owner, whose tools score too low for want of examples, the extended
// list takes part: all that it has in the ranking, not only what truncation
// keeps. Scores are calibrated.
//
// With the needs of the query, what speaks against its being of that kind is
// heard: a tool that says more of a need than all tools of the clear owners, by
// more than OwnNeed, is not overtaken.
func (c Config) Single(items []Item, needs []Words) []Place {
	kept, cut := c.Truncate(items)
	clear := map[string]bool{}
	for _, i := range kept {
		if items[i].Score >= c.Clear {
			clear[items[i].owner()] = true
		}
	}
	isClear := func(i int) bool { return clear[items[i].owner()] }
	front, _ := part(kept, isClear)
	extended, cut := part(cut, func(i int) bool { return !items[i].Seen && isClear(i) })
	held := c.held(items, needs, front)
	var order []Place
	for _, i := range kept {
		switch {
		case isClear(i):
			order = overtake(order, Place{i, ClearOwner})
		case held(i):
			order = append(order, Place{i, OwnNeed})
		default:
			order = append(order, Place{i, OtherOwner})
		}
	}
	for _, i := range extended {
		order = overtake(order, Place{i, Extended})
	}
	return append(order, places(cut, Cut)...)
}

// overtake puts a place in front of those of other owners at the end.
func overtake(order []Place, p Place) []Place {
	at := len(order)
	for at > 0 && order[at-1].Why == OtherOwner {
		at--
	}
	return slices.Insert(order, at, p)
}

// held returns whether a tool says more of a need than those in front.
func (c Config) held(items []Item, needs []Words, front []int) func(i int) bool {
	most := make([]float64, len(needs))
	for n, need := range needs {
		for _, i := range front {
			most[n] = max(most[n], shareOf(need, items[i].Words))
		}
	}
	return func(i int) bool {
		for n, need := range needs {
			if shareOf(need, items[i].Words) > most[n]+c.OwnNeed {
				return true
			}
		}
		return false
	}
}

// Multi is Algorithm 2, for queries that need several owners: tools of one
// owner, or alike, are connected, and of each connected component the best
// PerComponent come first. Both parts stay in the order of the ranking.
func (c Config) Multi(items []Item) []Place {
	kept, cut := c.Truncate(items)
	component := c.components(items, kept)
	taken := make([]int, len(items))
	front, rest := part(kept, func(i int) bool {
		taken[component[i]]++
		return taken[component[i]] <= c.PerComponent
	})
	return slices.Concat(places(front, Front), places(rest, Beyond), places(cut, Cut))
}

// components returns for each position the first position of its component.
func (c Config) components(items []Item, kept []int) []int {
	root := make([]int, len(items))
	for i := range root {
		root[i] = i
	}
	for at, i := range kept {
		for _, j := range kept[:at] {
			if root[i] == root[j] || !c.connected(&items[i], &items[j]) {
				continue
			}
			from, to := max(root[i], root[j]), min(root[i], root[j])
			for _, k := range kept {
				if root[k] == from {
					root[k] = to
				}
			}
		}
	}
	return root
}

func (c Config) connected(a, b *Item) bool {
	return a.owner() == b.owner() || similarity(a.Words, b.Words) > c.Alike
}

// part divides positions by whether they are wanted, in their order.
func part(positions []int, wanted func(i int) bool) (yes, no []int) {
	for _, i := range positions {
		if wanted(i) {
			yes = append(yes, i)
		} else {
			no = append(no, i)
		}
	}
	return yes, no
}

// places gives positions the same reason.
func places(positions []int, why Why) []Place {
	out := make([]Place, len(positions))
	for i, at := range positions {
		out[i] = Place{at, why}
	}
	return out
}

// Choose returns the algorithm for a query by the probability that one owner
// answers it. None is left to what is undecided, and to what has no hierarchy: a
// ranking in which nothing has an owner.
func (c Config) Choose(items []Item, single float64) Algorithm {
	owned := slices.ContainsFunc(items, func(it Item) bool { return it.Owner != "" })
	switch {
	case !owned:
	case single >= c.SingleFrom:
		return Single
	case single <= c.MultiTo:
		return Multi
	}
	return None
}

// Order returns the order that an algorithm puts the items into. Scores are
// calibrated. Needs are those of a query if it is not certain that one
// owner answers it.
func (c Config) Order(items []Item, needs []Words, a Algorithm) []Place {
	switch a {
	case Single:
		return c.Single(items, needs)
	case Multi:
		return c.Multi(items)
	}
	order := make([]Place, len(items))
	for i := range order {
		order[i].At = i
	}
	return order
}

// shareOf returns the share of the words of need that are in words.
func shareOf(need, words Words) float64 {
	return float64(need.shared(words)) / float64(max(1, len(need)))
}
