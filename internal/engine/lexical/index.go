package lexical

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolstream/toolstream/internal/kit/text"
)

// Index is a lexical index under change. Snapshot never waits; the other methods
// are for one goroutine at a time.
type Index struct {
	current atomic.Pointer[Snapshot]
	pool    sync.Pool
	stems   map[string]string
	exact   bool // nothing changed since the base was made
	merged  int  // documents in the deltas made since then, together
}

// New returns an index of segments that share no slot.
func New(segments ...*Segment) *Index {
	x := &Index{stems: make(map[string]string)}
	parts := make([]part, len(segments))
	for i, s := range segments {
		parts[i] = part{Segment: s}
	}
	x.rebuild(parts)
	return x
}

// Snapshot returns the index as of the last Apply.
func (x *Index) Snapshot() *Snapshot { return x.current.Load() }

// maxStems bounds the memory for stems already computed.
const maxStems = 1 << 16

// stem is text.Stem with a memory.
func (x *Index) stem(token string) string {
	if s, ok := x.stems[token]; ok {
		return s
	}
	if len(x.stems) >= maxStems {
		clear(x.stems)
	}
	s := text.Stem(token)
	x.stems[token] = s
	return s
}

// minDelta is how many documents the delta may always hold. A larger delta is merged
// into the base once it is an eighth of the base, or once the deltas since the last
// merge have cost as much as a merge of the base: so small changes stay cheap.
const minDelta = 256

// Apply replaces the documents in slots, and empties those with an empty document.
// Slots stay below 2^24 and should be dense: a search costs four bytes of memory
// for each up to the highest. If it fails, because of a document that Analyze
// did not make, nothing changes.
func (x *Index) Apply(docs map[uint32]Document) error {
	changed := slices.Sorted(maps.Keys(docs))
	if n := len(changed); n == 0 {
		return nil
	} else if changed[n-1] > maxSlot {
		return fmt.Errorf("lexical: slot %d, the highest is %d", changed[n-1], maxSlot)
	}
	var b Builder
	for _, slot := range changed {
		if d := docs[slot]; len(d) > 0 {
			if err := b.Add(slot, d); err != nil {
				return err
			}
		}
	}
	base, delta := part{Segment: &Segment{}}, part{Segment: &Segment{}}
	for i, p := range x.Snapshot().parts {
		if p = p.without(changed); i == 0 {
			base = p
		} else {
			delta = p
		}
	}
	delta = part{Segment: merge([]part{delta, {Segment: b.Segment()}})}
	x.merged += len(delta.slots)
	if base.dead.size+len(delta.slots) > minDelta+base.live()/8 || len(delta.slots) > minDelta && x.merged > base.live() {
		x.rebuild([]part{base, delta})
		return nil
	}
	delta.weigh(base.sums.plus(delta.sums))
	x.current.Store(newSnapshot([]part{base, delta}, &x.pool))
	x.exact = false
	return nil
}

// Rebuild merges all documents into one base with exact scores.
func (x *Index) Rebuild() {
	if !x.exact {
		x.rebuild(x.Snapshot().parts)
	}
}

func (x *Index) rebuild(parts []part) {
	base := merge(parts)
	base.weigh(base.sums)
	x.current.Store(newSnapshot([]part{{Segment: base}}, &x.pool))
	x.exact, x.merged = true, 0
}

// Exact reports whether every score is exact: nothing changed since the last
// rebuild.
func (x *Index) Exact() bool { return x.exact }
