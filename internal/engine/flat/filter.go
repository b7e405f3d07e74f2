package flat

import (
	"math/bits"
	"slices"
	"unique"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/schema"
)

// filter defines which slots a lookup may choose from.
type filter struct {
	tools, providers bool
	owners           map[unique.Handle[string]]bool // nil: any
	tags             map[unique.Handle[string]]bool // nil: any
	excluded         map[unique.Handle[string]]bool // flags
	behind           map[unique.Handle[string]]bool // flags
	slots            map[int]uint64                 // by block, nil: any
	scope            []uint64                       // by block, nil: any
	calls            []uint64                       // by block, nil: any
	withheld         bool                           // only what the scope and the kinds allow, and the others do not
}

func newFilter(l *index.Lookup, t *tenant, s *snapshot) filter {
	return filter{
		tools: admits(l, schema.KindTool), providers: admits(l, schema.KindProvider),
		owners: handles(l.Filters.Providers), tags: handles(l.Filters.Tags), slots: slotsOf(l.Filters.IDs, t, s), scope: t.scopes.masks(l.Scope, s.blocks),
		calls: callable(l.Calls, t, s, admits(l, schema.KindProvider)), excluded: handles(l.Exclude), behind: handles(l.Behind), withheld: l.Withheld,
	}
}

func admits(l *index.Lookup, kind schema.Kind) bool {
	return (len(l.Kinds) == 0 || slices.Contains(l.Kinds, kind)) &&
		(len(l.Filters.Kinds) == 0 || slices.Contains(l.Filters.Kinds, kind))
}

func handles(values []string) map[unique.Handle[string]]bool {
	if len(values) == 0 {
		return nil
	}
	out := make(map[unique.Handle[string]]bool, len(values))
	for _, v := range values {
		out[unique.Make(v)] = true
	}
	return out
}

// slotsOf returns the slots of the tools and providers of these ids, as bits by
// block.
func slotsOf(ids []string, t *tenant, s *snapshot) map[int]uint64 {
	if len(ids) == 0 {
		return nil
	}
	out := map[int]uint64{}
	for _, id := range ids {
		for _, kind := range []schema.Kind{schema.KindTool, schema.KindProvider} {
			if slot, ok := t.slotOf(kind, id, s); ok {
				out[int(slot/blockSize)] |= 1 << (slot % blockSize)
			}
		}
	}
	return out
}

// callable returns the slots of each block with tools that can be called and, if wanted, with the
// providers of such tools; nil for all.
func callable(c *index.Callable, t *tenant, s *snapshot, providers bool) []uint64 {
	if c == nil {
		return nil
	}
	call, destroy := t.scopes.masks(c.Call, s.blocks), t.scopes.masks(c.Destroy, s.blocks)
	known := map[unique.Handle[index.Origin]]bool{}
	masks, owners := make([]uint64, len(s.blocks)), map[unique.Handle[string]]bool{}
	var last unique.Handle[index.Origin] // neighbours share it as a rule
	var can bool
	for n, b := range s.blocks {
		tools := b.live &^ b.hidden &^ b.providers
		if call != nil {
			tools &= call[n] | b.destroys
		}
		if destroy != nil {
			tools &= destroy[n] | ^b.destroys
		}
		masks[n] = keep(tools, func(i int) bool {
			if b.origin[i] == last {
				return can
			}
			var there bool
			last = b.origin[i]
			if can, there = known[last]; !there {
				can = c.Of(last.Value())
				known[last] = can
			}
			if can && providers {
				owners[b.owner[i]] = true
			}
			return can
		})
	}
	if providers {
		for n, b := range s.blocks {
			masks[n] |= keep(b.live&b.providers, func(i int) bool { return owners[b.owner[i]] })
		}
	}
	return masks
}

// allowed returns the slots of each block that may be chosen, and how many
// they are.
func (f *filter) allowed(blocks []*block) (masks []uint64, n int) {
	masks = make([]uint64, len(blocks))
	for i, b := range blocks {
		masks[i] = f.mask(i, b)
		n += bits.OnesCount64(masks[i])
	}
	return masks, n
}

func (f *filter) mask(n int, b *block) uint64 {
	mask := b.live
	if !f.tools {
		mask &= b.providers
	}
	if !f.providers {
		mask &^= b.providers
	}
	if f.scope != nil {
		mask &= f.scope[n]
	}
	all := mask
	mask &^= b.hidden
	if f.calls != nil {
		mask &= f.calls[n]
	}
	if f.slots != nil {
		mask &= f.slots[n]
	}
	if f.owners != nil {
		mask = keep(mask, func(i int) bool { return f.owners[b.owner[i]] })
	}
	if f.tags != nil {
		mask = keep(mask, func(i int) bool { return anyOf(b.entities[i].tags, f.tags) })
	}
	if f.excluded != nil {
		mask = mask&^b.flagged | keep(mask&b.flagged, func(i int) bool { return !anyOf(b.entities[i].flags, f.excluded) })
	}
	if f.withheld {
		return all &^ mask
	}
	return mask
}

// divide splits the slots of each block into entities that come first and entities that come after
// all others, and counts the first.
func (f *filter) divide(blocks []*block, open []uint64, n int) (before, behind []uint64, allowed int) {
	if f.behind == nil {
		return open, nil, n
	}
	before = slices.Clone(open)
	for i, b := range blocks {
		flagged := keep(open[i]&b.flagged, func(j int) bool { return anyOf(b.entities[j].flags, f.behind) })
		if flagged == 0 {
			continue
		}
		if behind == nil {
			behind = make([]uint64, len(blocks))
		}
		before[i], behind[i] = open[i]&^flagged, flagged
		n -= bits.OnesCount64(flagged)
	}
	return before, behind, n
}

func anyOf(some []unique.Handle[string], wanted map[unique.Handle[string]]bool) bool {
	return slices.ContainsFunc(some, func(s unique.Handle[string]) bool { return wanted[s] })
}

// keep returns the bits of mask that ok accepts.
func keep(mask uint64, ok func(i int) bool) uint64 {
	for rest := mask; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if !ok(i) {
			mask &^= 1 << i
		}
	}
	return mask
}
