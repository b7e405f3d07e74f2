package flat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/pkg/schema"
)

// load fills the memory from the files.
func (i *Index) load(ctx context.Context) error {
	words, err := loadCache(i.config.Path)
	if err != nil {
		i.config.Logger.Warn("texts are analysed again", "err", err)
	}
	l := &loader{index: i, words: words}
	s, st, err := openStore(ctx, i.config.Path, i.config.Logger, l.add, l.restart)
	if err != nil {
		return err
	}
	i.store = s
	i.state.Store(&st)
	if l.finish(ctx, st.dimensions) == 0 {
		i.saved = st.generation
	}
	slices.SortFunc(i.graves, func(a, b grave) int {
		return cmp.Or(a.accepted.Compare(b.accepted), cmp.Compare(a.ref.ID, b.ref.ID))
	})
	return ctx.Err()
}

// loader takes records into an empty index.
type loader struct {
	index *Index
	words map[string]*cached // lexical indexes that were saved, by tenant
	fresh int                // texts that were not among them, or are no longer there
}

// restart forgets what was taken.
func (l *loader) restart() {
	l.index.tenants.Clear()
	l.index.graves = nil
	l.words, l.fresh = nil, 1
}

// add takes one record.
func (l *loader) add(r *record, crc uint32) error {
	t, err := l.tenant(r.ref.Tenant)
	if err != nil {
		return err
	}
	n := name{r.ref.Kind, r.ref.ID}
	if r.deleted {
		t.entries.Store(n, &entry{version: r.version, slot: noSlot, crc: crc})
		l.index.graves = append(l.index.graves, grave{ref: r.ref, version: r.version, accepted: r.accepted})
		return nil
	}
	slot, err := l.slot(t, n, r, crc)
	if err != nil {
		return err
	}
	t.entries.Store(n, &entry{version: r.version, slot: slot, crc: crc})
	t.pending[slot] = newTool(r, crc)
	return nil
}

// slot returns the slot in which the saved lexical index holds the record's
// words, or a new one, into which it puts them.
func (l *loader) slot(t *tenant, n name, r *record, crc uint32) (uint32, error) {
	if c := l.words[r.ref.Tenant]; c != nil {
		if saved, ok := c.slots[n]; ok && saved.crc == crc {
			delete(c.slots, n)
			return saved.slot, nil
		}
	}
	doc := new(schema.Document)
	if err := json.Unmarshal(r.document, doc); err != nil {
		return 0, fmt.Errorf("%w: document of %s: %w", errRecord, r.ref.ID, err)
	}
	l.fresh++
	slot := t.newSlot()
	return slot, t.lexical.Put(slot, lexicalTexts(doc))
}

// tenant returns a tenant, with its saved words if there are any.
func (l *loader) tenant(name string) (*tenant, error) {
	c := l.words[name]
	if t := l.index.find(name); t != nil || c == nil {
		return l.index.tenant(name)
	}
	t := newTenant(c.words)
	t.slots = c.top
	l.index.tenants.Store(name, t)
	return t, nil
}

// finish publishes all tenants. Saved words whose record is gone leave their
// slots. It returns how far the saved words are from what there is now.
func (l *loader) finish(ctx context.Context, dimensions int) (fresh int) {
	l.index.tenants.Range(func(key, value any) bool {
		t := value.(*tenant)
		if c := l.words[key.(string)]; c != nil {
			for _, left := range c.slots {
				t.lexical.Delete(left.slot)
				t.free = append(t.free, left.slot)
				l.fresh++
			}
			slices.Sort(t.free)
		}
		t.lexical.Commit()
		if t.lexical.Rebuild(ctx) != nil {
			return false
		}
		t.publish(dimensions)
		return true
	})
	return l.fresh
}
