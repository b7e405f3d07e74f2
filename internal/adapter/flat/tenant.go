package flat

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/lexical"
	"github.com/toolstream/toolstream/internal/vector"
	"github.com/toolstream/toolstream/pkg/schema"
)

// noSlot is the slot of what is not in the index.
const noSlot = ^uint32(0)

// name is what names an entity within its tenant.
type name struct {
	kind schema.Kind
	id   string
}

// entry is what is known of an entity that was ever applied and is not
// forgotten yet. It is immutable.
type entry struct {
	version schema.Version
	slot    uint32 // noSlot: deleted
	crc     uint32 // of the record
}

// tenant is one tenant's index. Readers use entries and now; the rest belongs
// to the writer.
type tenant struct {
	entries entries
	now     atomic.Pointer[snapshot]

	free    []uint32 // slots to be used again
	changes int      // since the lexical index was merged last
	merging bool     // it is being merged
	slots   uint32   // how many were ever given out
	lexical *lexical.Index
	pending []change // what the next snapshot changes
	known   []known  // what is known once it can be searched
	file    *mapping // where blocks and words may lie; searches hold the tenant, and so the file
}

// snapshot is what a search reads. It is immutable, but for what it keeps.
type snapshot struct {
	blocks  []*block
	lexical *lexical.Snapshot
	supply  sync.Map // slot to []index.Supplier, of the tools that were asked for
}

func newTenant(words *lexical.Index) *tenant {
	t := &tenant{}
	t.begin(words)
	return t
}

// begin makes a tenant ready to be searched.
func (t *tenant) begin(words *lexical.Index) {
	t.lexical = words
	t.now.Store(&snapshot{lexical: words.Snapshot()})
}

func (t *tenant) entry(kind schema.Kind, id string) *entry {
	return t.entries.load(name{kind, id})
}

// put changes one entity in what the next snapshot shows, once before it is
// published.
func (t *tenant) put(s *staged) error {
	n := name{s.ref.Kind, s.ref.ID}
	e := &entry{version: s.version, slot: noSlot, crc: s.encoded.crc}
	var err error
	old := t.entry(n.kind, n.id)
	switch {
	case !s.deleted:
		e.slot = t.slotFor(old)
		c := change{slot: e.slot, tool: newTool(s.record, s.encoded)}
		c.add(&s.vectors)
		t.pending = append(t.pending, c)
		err = t.lexical.Put(e.slot, lexicalTexts(s.doc))
	case old != nil && old.slot != noSlot:
		t.lexical.Delete(old.slot)
		t.pending = append(t.pending, change{slot: old.slot})
		t.free = append(t.free, old.slot)
	}
	t.known = append(t.known, known{n, e})
	t.changes++
	return err
}

// slotFor returns the slot that an entity has, or another.
func (t *tenant) slotFor(old *entry) uint32 {
	if old != nil && old.slot != noSlot {
		return old.slot
	}
	if n := len(t.free); n > 0 {
		slot := t.free[n-1]
		t.free = t.free[:n-1]
		return slot
	}
	return t.newSlot()
}

func (t *tenant) newSlot() uint32 {
	t.slots++
	return t.slots - 1
}

// publish shows readers what was put since the last call. It copies the list
// of blocks and the blocks that change, nothing else, and returns how many
// bytes are of no use any more once the last reader has left them.
func (t *tenant) publish(dimensions int) (retired int) {
	t.lexical.Commit()
	old := t.now.Load().blocks
	runs := t.takePending()
	for _, r := range runs {
		if r.block() < len(old) {
			retired += old[r.block()].bytes()
		}
	}
	blocks := room(old, runs)
	split(len(runs), workers(len(runs)/minShare), func(_, from, to int) {
		for _, r := range runs[from:to] {
			blocks[r.block()] = blocks[r.block()].with(r, vector.Stride(dimensions))
		}
	})
	t.show(blocks)
	t.tell()
	return retired
}

// tell makes known what searches see since now: whoever learns that a change is
// indexed may search for it.
func (t *tenant) tell() {
	for _, k := range t.known {
		t.entries.store(k.name, k.entry)
	}
	t.known = t.known[:0]
}

// show makes blocks what readers see, with the words as committed.
func (t *tenant) show(blocks []*block) {
	t.now.Store(&snapshot{blocks: blocks, lexical: t.lexical.Snapshot()})
}

// room returns a copy of blocks that is long enough for the runs.
func room(blocks []*block, runs []run) []*block {
	out := slices.Clone(blocks)
	if len(runs) > 0 {
		for last := runs[len(runs)-1].block(); last >= len(out); {
			out = append(out, &block{})
		}
	}
	return out
}

// run is the changes to one block, in the order in which they came.
type run []change

func (r run) block() int { return int(r[0].slot / blockSize) }

// takePending returns the pending changes, block by block.
func (t *tenant) takePending() []run {
	all := t.pending
	t.pending = nil
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.slot/blockSize, b.slot/blockSize) })
	var runs []run
	for from, i := 0, 1; i <= len(all); i++ {
		if i == len(all) || all[i].slot/blockSize != all[from].slot/blockSize {
			runs = append(runs, all[from:i])
			from = i
		}
	}
	return runs
}

// tools returns how many entities there are.
func (s *snapshot) tools() int {
	n := 0
	for _, b := range s.blocks {
		n += bits.OnesCount64(b.live)
	}
	return n
}

// at returns the entity in a slot, nil where there is none.
func (s *snapshot) at(slot uint32) *tool {
	n := int(slot / blockSize)
	if n >= len(s.blocks) {
		return nil
	}
	return s.blocks[n].tools[slot%blockSize]
}

// isTool reports whether a slot holds a tool.
func (s *snapshot) isTool(slot uint32) bool {
	n := int(slot / blockSize)
	return n < len(s.blocks) && (s.blocks[n].live&^s.blocks[n].agents)>>(slot%blockSize)&1 != 0
}

// lexicalTexts returns the texts of a document, field by field.
func lexicalTexts(doc *schema.Document) *[lexical.FieldCount]string {
	f := index.Texts(doc)
	return &[lexical.FieldCount]string{
		lexical.Flat:        f.Flat,
		lexical.Name:        f.Name,
		lexical.Description: f.Description,
		lexical.Parameters:  strings.Join(f.Parameters, "\n"),
		lexical.Response:    f.Response,
		lexical.Examples:    strings.Join(f.Examples, "\n"),
	}
}
