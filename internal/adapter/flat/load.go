package flat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolstream/toolstream/internal/lexical"
	"github.com/toolstream/toolstream/internal/vector"
	"github.com/toolstream/toolstream/pkg/schema"
)

// load fills the memory from the files.
func (i *Index) load(ctx context.Context) error {
	var err error
	if i.program, err = program(); err != nil {
		return err
	}
	memory, err := openCache(i.config.Path, i.program)
	if err == nil {
		err = i.loadWith(ctx, memory)
	}
	if !errors.Is(err, errCache) {
		return err
	}
	i.config.Logger.Warn("the saved memory can not be used: all texts are analysed and all vectors quantised again", "error", err)
	return i.loadWith(ctx, &saved{})
}

func (i *Index) loadWith(ctx context.Context, memory *saved) error {
	l := &loader{index: i}
	l.begin(memory)
	s, st, err := openStore(ctx, i.config.Path, i.config.Logger, l.add, l.restart)
	broken := memory.wait()
	if err != nil {
		return errors.Join(err, broken)
	}
	if broken != nil {
		return errors.Join(broken, s.close())
	}
	i.store = s
	i.state.Store(&st)
	if err := l.finish(ctx); err != nil {
		return errors.Join(err, s.close())
	}
	i.unsaved.Store(l.fresh.Load())
	slices.SortFunc(i.graves, func(a, b grave) int {
		return cmp.Or(a.accepted.Compare(b.accepted), cmp.Compare(a.ref.ID, b.ref.ID))
	})
	return nil
}

// loader takes records into an index.
type loader struct {
	index *Index
	saved map[string]*savedTenant
	fresh atomic.Int64 // records that the cache does not have, and those that are gone

	mu sync.Mutex // guards the index
}

// begin fills the index with what was saved.
func (l *loader) begin(memory *saved) {
	l.index.tenants.Clear()
	l.index.graves = nil
	l.saved = memory.tenants
	for tenantName, s := range l.saved {
		t := &tenant{slots: uint32(len(s.seen)), file: s.file}
		t.entries.saved = make(map[name]*entry, len(s.seen))
		for n, b := range s.blocks {
			t.entries.take(b, uint32(n*blockSize))
		}
		l.index.tenants.Store(tenantName, t)
		s.known = t.entries.saved
	}
}

// take enters a saved block's entities, whose first slot is from.
func (e *entries) take(b *block, from uint32) {
	known := make([]entry, 0, blockSize) // as one, like its tools
	for live := b.live; live != 0; live &= live - 1 {
		i := bits.TrailingZeros64(live)
		t := b.tools[i]
		known = append(known, entry{version: t.version, slot: from + uint32(i), crc: t.record.crc})
		e.saved[name{t.ref.Kind, t.ref.ID}] = &known[len(known)-1]
	}
}

// restart forgets what was taken, and what was saved.
func (l *loader) restart() {
	l.begin(&saved{})
	l.fresh.Add(1)
}

// add takes one record, of bytes that are verified.
func (l *loader) add(k, b []byte) error {
	ref, err := refOf(k)
	if err != nil || l.has(ref, b) {
		return err
	}
	r, e, err := parse(ref, b)
	if err != nil {
		return err
	}
	l.fresh.Add(1)
	t, slot, err := l.enter(r, e)
	if err != nil || t == nil {
		return err
	}
	doc := new(schema.Document)
	if err := json.Unmarshal(r.document, doc); err != nil {
		return fmt.Errorf("%w: document of %s: %w", errRecord, r.ref.ID, err)
	}
	words, err := l.lexical(t, r.ref.Tenant)
	if err != nil {
		return err
	}
	return words.Put(slot, lexicalTexts(doc))
}

// has reports whether the memory was made from the same record, and notes it.
// A checksum alone may be the same by chance; a change has another version too.
func (l *loader) has(ref schema.Ref, b []byte) bool {
	s := l.saved[ref.Tenant]
	if s == nil {
		return false
	}
	e := s.known[name{ref.Kind, ref.ID}]
	if e == nil || e.crc != crcOf(b) || e.version != versionOf(b) || s.held(e.slot).record.size != len(b) {
		return false
	}
	s.seen[e.slot].Store(true)
	return true
}

// enter takes a record that was not saved. It returns where its words are
// still to be put, no tenant where nothing is to be done.
func (l *loader) enter(r *record, record encoded) (*tenant, uint32, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, err := l.index.tenant(r.ref.Tenant)
	if err != nil {
		return nil, 0, err
	}
	n := name{r.ref.Kind, r.ref.ID}
	e := &entry{version: r.version, slot: noSlot, crc: record.crc}
	if !r.deleted {
		e.slot = t.newSlot()
		t.pending = append(t.pending, change{slot: e.slot, tool: newTool(r, record)})
	}
	t.entries.store(n, e)
	if r.deleted {
		l.index.graves = append(l.index.graves, grave{ref: r.ref, version: r.version, accepted: r.accepted})
		t = nil
	}
	return t, e.slot, nil
}

// lexical returns a tenant's words, where they are saved once they are read.
func (l *loader) lexical(t *tenant, name string) (*lexical.Index, error) {
	if s := l.saved[name]; s != nil {
		return s.words()
	}
	return t.lexical, nil
}

// finish publishes all tenants.
func (l *loader) finish(ctx context.Context) (err error) {
	l.index.tenants.Range(func(key, value any) bool {
		err = l.finishTenant(ctx, key.(string), value.(*tenant))
		return err == nil
	})
	return err
}

// finishTenant publishes a tenant. What was saved and is gone, or has another
// record, leaves its slot.
func (l *loader) finishTenant(ctx context.Context, name string, t *tenant) error {
	words, err := l.lexical(t, name)
	if err != nil {
		return err
	}
	var blocks []*block
	if s := l.saved[name]; s != nil {
		blocks = s.blocks
		if d := dimensionsOf(blocks); d > 0 && d != l.index.state.Load().dimensions {
			return useless("vectors of %d dimensions", d)
		}
		l.fresh.Add(int64(t.drop(s, words)))
	}
	words.Commit()
	if err := words.Rebuild(ctx); err != nil {
		return err
	}
	t.begin(words)
	if err := t.quantise(ctx, l.index, blocks); err != nil {
		return err
	}
	t.reclaim()
	return nil
}

// dimensionsOf returns how long the vectors of blocks are, which is the same for all; 0
// where there are none.
func dimensionsOf(blocks []*block) int {
	for _, b := range blocks {
		for live := b.live; live != 0; live &= live - 1 {
			if d := b.tools[bits.TrailingZeros64(live)].record.dimensions; d > 0 {
				return d
			}
		}
	}
	return 0
}

// drop takes out what was saved and was not seen. It returns how many it were.
func (t *tenant) drop(s *savedTenant, words *lexical.Index) int {
	gone := 0
	for n, b := range s.blocks {
		for live := b.live; live != 0; live &= live - 1 {
			i := bits.TrailingZeros64(live)
			slot := uint32(n*blockSize + i)
			if s.seen[slot].Load() {
				continue
			}
			gone++
			words.Delete(slot)
			t.pending = append(t.pending, change{slot: slot})
			ref := b.tools[i].ref
			if e := t.entry(ref.Kind, ref.ID); e != nil && e.slot == slot {
				t.entries.forget(name{ref.Kind, ref.ID})
			}
		}
	}
	return gone
}

// reclaim finds the slots that nothing is in, the lowest to be used first.
func (t *tenant) reclaim() {
	blocks := t.now.Load().blocks
	for next := t.slots; next > 0; next-- {
		slot := next - 1
		if n := int(slot / blockSize); n >= len(blocks) || blocks[n].live>>(slot%blockSize)&1 == 0 {
			t.free = append(t.free, slot)
		}
	}
}

// quantise publishes what is pending on top of blocks, with vectors read from
// the file: block by block, so that what is read is still at hand when it is
// copied.
func (t *tenant) quantise(ctx context.Context, x *Index, blocks []*block) error {
	runs := t.takePending()
	blocks = room(blocks, runs)
	stride := vector.Stride(x.state.Load().dimensions)
	errs := make([]error, workers(len(runs)))
	split(len(runs), len(errs), func(worker, from, to int) {
		errs[worker] = x.store.read(func(r *reader) error {
			var memory quantised
			for _, run := range runs[from:to] {
				if err := run.quantise(r, &memory); err != nil || ctx.Err() != nil {
					return cmp.Or(err, ctx.Err())
				}
				blocks[run.block()] = blocks[run.block()].with(run, stride)
			}
			return nil
		})
	})
	t.show(blocks)
	return errors.Join(errs...)
}

// quantise gives each change its vectors, in memory that is used again.
func (r run) quantise(from *reader, memory *quantised) error {
	memory.codes, memory.scales = memory.codes[:0], memory.scales[:0]
	for i := range r {
		if r[i].tool == nil {
			continue
		}
		v, err := from.vectors(r[i].tool)
		if err != nil {
			return err
		}
		code, scale := len(memory.codes), len(memory.scales)
		memory.add(v)
		r[i].quantised = quantised{memory.codes[code:], memory.scales[scale:]}
	}
	return nil
}
