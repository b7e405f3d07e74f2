package flat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/toolstream/toolstream/internal/lexical"
	"github.com/toolstream/toolstream/internal/vector"
	"github.com/toolstream/toolstream/pkg/schema"
)

// load fills the memory from the files.
func (i *Index) load(ctx context.Context) error {
	words, err := openCache(i.config.Path)
	if err == nil {
		err = errors.Join(i.loadWith(ctx, words), words.close())
		if !errors.Is(err, errCache) {
			return err
		}
	}
	i.config.Logger.Warn("the saved lexical index can not be used: all texts are analysed again", "err", err)
	return i.loadWith(ctx, &savedWords{})
}

func (i *Index) loadWith(ctx context.Context, words *savedWords) error {
	l := &loader{index: i, words: words.tenants}
	l.forget()
	s, st, err := openStore(ctx, i.config.Path, i.config.Logger, l.add, l.restart)
	if err != nil {
		return err
	}
	i.store = s
	i.state.Store(&st)
	if err := l.finish(ctx, s); err != nil {
		return errors.Join(err, s.close())
	}
	if l.fresh == 0 {
		i.saved = st.generation
	}
	slices.SortFunc(i.graves, func(a, b grave) int {
		return cmp.Or(a.accepted.Compare(b.accepted), cmp.Compare(a.ref.ID, b.ref.ID))
	})
	return nil
}

// loader takes records into an empty index.
type loader struct {
	index *Index

	mu    sync.Mutex         // guards what follows, and the index
	words map[string]*cached // lexical indexes that were saved, by tenant
	fresh int                // texts that were not among them, or are no longer there
}

// forget empties the index.
func (l *loader) forget() {
	l.index.tenants.Clear()
	l.index.graves = nil
}

// restart forgets what was taken, and what was saved beside it.
func (l *loader) restart() {
	l.forget()
	l.words, l.fresh = nil, 1
}

// add takes one record.
func (l *loader) add(r *record, e encoded) error {
	var made *tool
	if !r.deleted {
		made = newTool(r, e)
	}
	t, slot, err := l.enter(r, made, e.crc)
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

// enter takes a record and what is made of it. It returns where its words are still to
// be put, no tenant where nothing is to be done.
func (l *loader) enter(r *record, made *tool, crc uint32) (*tenant, uint32, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, err := l.tenant(r.ref.Tenant)
	if err != nil {
		return nil, 0, err
	}
	n := name{r.ref.Kind, r.ref.ID}
	e := &entry{version: r.version, slot: noSlot, crc: crc}
	t.entries.Store(n, e)
	if r.deleted {
		l.index.graves = append(l.index.graves, grave{ref: r.ref, version: r.version, accepted: r.accepted})
		return nil, 0, nil
	}
	slot, saved := l.slot(t, r.ref.Tenant, n, crc)
	e.slot = slot
	t.pending = append(t.pending, change{slot: slot, tool: made})
	if saved {
		t = nil
	}
	return t, slot, nil
}

// slot returns the slot in which the saved lexical index holds a record's
// words, or a new one.
func (l *loader) slot(t *tenant, tenant string, n name, crc uint32) (slot uint32, saved bool) {
	if c := l.words[tenant]; c != nil {
		if known, ok := c.slots[n]; ok && known.crc == crc {
			delete(c.slots, n)
			return known.slot, true
		}
	}
	l.fresh++
	return t.newSlot(), false
}

// tenant returns a tenant. If its words are saved, it has none before finish.
func (l *loader) tenant(name string) (*tenant, error) {
	c := l.words[name]
	if t := l.index.find(name); t != nil || c == nil {
		return l.index.tenant(name)
	}
	t := &tenant{slots: c.top}
	l.index.tenants.Store(name, t)
	return t, nil
}

// lexical returns a tenant's words, where they are saved once they are read.
func (l *loader) lexical(t *tenant, name string) (*lexical.Index, error) {
	if c := l.words[name]; c != nil {
		return c.words()
	}
	return t.lexical, nil
}

// finish publishes all tenants.
func (l *loader) finish(ctx context.Context, s *store) (err error) {
	l.index.tenants.Range(func(key, value any) bool {
		err = l.finishTenant(ctx, s, key.(string), value.(*tenant))
		return err == nil
	})
	return err
}

// finishTenant publishes a tenant. Saved words whose record is gone leave
// their slots.
func (l *loader) finishTenant(ctx context.Context, s *store, name string, t *tenant) error {
	words, err := l.lexical(t, name)
	if err != nil {
		return err
	}
	if c := l.words[name]; c != nil {
		for _, left := range c.slots {
			words.Delete(left.slot)
			t.free = append(t.free, left.slot)
		}
		l.fresh += len(c.slots)
		slices.Sort(t.free)
	}
	words.Commit()
	if err := words.Rebuild(ctx); err != nil {
		return err
	}
	t.begin(words)
	return t.quantise(ctx, s)
}

// quantise publishes what is pending, with vectors read from the file: block
// by block, so that what is read is still at hand when it is copied.
func (t *tenant) quantise(ctx context.Context, s *store) error {
	runs := t.takePending()
	blocks := room(nil, runs)
	errs := make([]error, workers(len(runs)))
	split(len(runs), len(errs), func(worker, from, to int) {
		errs[worker] = s.read(func(r *reader) error {
			var memory quantised
			for _, run := range runs[from:to] {
				if err := run.quantise(r, &memory); err != nil || ctx.Err() != nil {
					return cmp.Or(err, ctx.Err())
				}
				blocks[run.block()] = (&block{}).with(run, run.stride())
			}
			return nil
		})
	})
	t.show(blocks)
	return errors.Join(errs...)
}

func (r run) stride() int { return vector.Stride(r[0].tool.record.dimensions) }

// quantise gives each change its vectors, in memory that is used again.
func (r run) quantise(from *reader, memory *quantised) error {
	memory.codes, memory.scales = memory.codes[:0], memory.scales[:0]
	for i := range r {
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
