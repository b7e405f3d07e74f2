package lexical

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolstream/toolstream/internal/text"
)

// Index is a lexical index under change. Put, Delete and Commit are for one
// writer at a time; Snapshot never waits for anybody.
type Index struct {
	config  Config
	current atomic.Pointer[Snapshot]
	pool    sync.Pool
	stale   chan struct{} // holds a value once a rebuild is due

	writer  sync.Mutex // guards pending and stems
	pending map[uint32]*document
	stems   map[string]string

	publish   sync.Mutex          // guards the exchange of current, and what follows
	frozen    int                 // how many of the first parts a running rebuild reads
	changed   map[uint32]struct{} // slots committed while a rebuild runs
	rebuilder sync.Mutex          // held by the one running rebuild
}

// New returns an empty index.
func New(c Config) (*Index, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return newIndex(c, nil), nil
}

func newIndex(c Config, parts []part) *Index {
	x := &Index{
		config:  c,
		stale:   make(chan struct{}, 1),
		pending: make(map[uint32]*document),
		stems:   make(map[string]string),
	}
	x.current.Store(newSnapshot(c, parts, &x.pool))
	return x
}

// Snapshot returns the index as of the last Commit.
func (x *Index) Snapshot() *Snapshot { return x.current.Load() }

// Put replaces the document in a slot from the next Commit on. The texts of
// Stem and Pairs are not read. Slots stay below 2^24 and should be dense: a
// search costs four bytes of memory for each up to the highest.
func (x *Index) Put(slot uint32, texts *[FieldCount]string) error {
	if slot > maxSlot {
		return fmt.Errorf("lexical: put: slot %d, the highest is %d", slot, maxSlot)
	}
	x.writer.Lock()
	defer x.writer.Unlock()
	x.pending[slot] = x.config.read(slot, texts, x.stem)
	return nil
}

// maxStems bounds the memory for stems already computed.
const maxStems = 1 << 16

// stem is text.Stem with a memory. The caller holds writer.
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

// Delete empties a slot from the next Commit on. An empty slot may be deleted.
func (x *Index) Delete(slot uint32) {
	x.writer.Lock()
	defer x.writer.Unlock()
	x.pending[slot] = nil
}

// Commit publishes what was put and deleted since the last one. Its cost
// follows the number of changes, not the size of the index: commit batches.
func (x *Index) Commit() {
	x.writer.Lock()
	pending := x.pending
	x.pending = make(map[uint32]*document)
	x.writer.Unlock()
	if len(pending) == 0 {
		return
	}
	x.publish.Lock()
	defer x.publish.Unlock()
	x.apply(pending)
	if x.due() {
		select {
		case x.stale <- struct{}{}:
		default:
		}
	}
}

// apply makes the changes the current snapshot. The caller holds publish.
func (x *Index) apply(pending map[uint32]*document) {
	slots := make([]uint32, 0, len(pending))
	var docs []*document
	for slot, d := range pending {
		slots = append(slots, slot)
		if x.changed != nil {
			x.changed[slot] = struct{}{}
		}
		if d != nil {
			docs = append(docs, d)
		}
	}
	parts := make([]part, 0, len(x.Snapshot().parts)+1)
	for i, p := range x.Snapshot().parts {
		if p = p.without(slots); i < x.frozen || p.live() > 0 {
			parts = append(parts, p)
		}
	}
	if len(docs) > 0 {
		slices.SortFunc(docs, func(a, b *document) int { return int(a.slot) - int(b.slot) })
		parts = append(parts, part{segment: newSegment(docs)})
		parts = x.tier(parts)
		last := parts[len(parts)-1]
		last.weigh(x.config, newSnapshot(x.config, parts, nil).sums)
	}
	x.current.Store(newSnapshot(x.config, parts, &x.pool))
}

// maxTier is the size in documents above which segments are merged by Rebuild
// alone, so that a commit never waits for a long merge.
const maxTier = 4096

// tier merges the new last part with those before it that are not much larger,
// so that a hundred commits leave a handful of segments.
func (x *Index) tier(parts []part) []part {
	from, size := len(parts)-1, parts[len(parts)-1].live()
	for from > x.frozen && parts[from-1].live() <= 2*size && size+parts[from-1].live() <= maxTier {
		from--
		size += parts[from].live()
	}
	if from == len(parts)-1 {
		return parts
	}
	merged, err := merge(context.Background(), parts[from:])
	if err != nil { // only ever the context's
		return parts
	}
	return append(parts[:from], part{segment: merged})
}

// minStale keeps small indexes from being rebuilt all the time.
const minStale = 256

// due reports whether an eighth of the index stands outside its base. The
// caller holds publish.
func (x *Index) due() bool {
	s := x.Snapshot()
	if len(s.parts) == 0 {
		return false
	}
	base := len(s.parts[0].slots)
	changes := s.parts[0].dead.size
	for _, p := range s.parts[1:] {
		changes += len(p.slots)
	}
	return changes > minStale+base/8
}

// Run rebuilds the index whenever it is due, until ctx ends. It returns nil.
func (x *Index) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-x.stale:
		}
		if err := x.Rebuild(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// Rebuild merges all that is committed into one segment with exact scores.
// Commits and searches go on meanwhile. It fails only if ctx ends, and then
// changes nothing.
func (x *Index) Rebuild(ctx context.Context) error {
	x.rebuilder.Lock()
	defer x.rebuilder.Unlock()
	parts := x.freeze()
	if settled(parts) {
		x.thaw(nil)
		return nil
	}
	merged, err := merge(ctx, parts)
	if err != nil {
		x.thaw(nil)
		return err
	}
	merged.weigh(x.config, merged.sums)
	x.thaw(merged)
	return nil
}

// freeze returns the current parts and has Commit leave them in place.
func (x *Index) freeze() []part {
	x.publish.Lock()
	defer x.publish.Unlock()
	parts := x.Snapshot().parts
	x.frozen, x.changed = len(parts), make(map[uint32]struct{})
	return parts
}

// thaw puts the merged segment in the place of the frozen parts, less what
// changed since, and lets Commit merge again. Without one it only thaws.
func (x *Index) thaw(merged *segment) {
	x.publish.Lock()
	defer x.publish.Unlock()
	if merged != nil {
		slots := make([]uint32, 0, len(x.changed))
		for slot := range x.changed {
			slots = append(slots, slot)
		}
		var parts []part
		if base := (part{segment: merged}).without(slots); base.live() > 0 {
			parts = append(parts, base)
		}
		parts = append(parts, x.Snapshot().parts[x.frozen:]...)
		x.current.Store(newSnapshot(x.config, parts, &x.pool))
	}
	x.frozen, x.changed = 0, nil
}

// settled reports whether the parts are one exact segment, or none.
func settled(parts []part) bool {
	if len(parts) != 1 {
		return len(parts) == 0
	}
	p := parts[0]
	for f, s := range p.sums {
		if p.means[f] != s.mean() {
			return false
		}
	}
	return p.dead.size == 0
}
