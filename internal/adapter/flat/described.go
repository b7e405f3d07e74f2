package flat

import (
	"context"
	"runtime"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/lexical"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Described returns the n tools, of those that the filters allow, whose names
// and descriptions match a text best by BM25, best first, as the catalogue has
// them. Fewer share a word with it, as a rule, in a small registry.
//
// The name, the tags and stems are part of it: of the tools that the labels of
// Toolink and ToolBench ask for, 0.56 and 0.86 are among the first twenty, by
// the description's words alone 0.47 and 0.71.
func (i *Index) Described(ctx context.Context, tenant, words string, filters schema.Filters, n int) ([]schema.Entity, error) {
	t := i.find(tenant)
	if t == nil || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	defer runtime.KeepAlive(t) // or its file ends while its words are read
	s := t.now.Load()
	f := newFilter(&index.Lookup{Filters: filters, Kinds: []schema.Kind{schema.KindTool}}, t, s)
	masks, _ := f.allowed(s.blocks)
	hits := s.lexical.Search(lexical.Name, s.lexical.Analyze(lexical.Name, words), n, func(slot uint32) bool {
		return masks[slot/blockSize]&(1<<(slot%blockSize)) != 0
	})
	out := make([]schema.Entity, 0, len(hits))
	err := i.store.read(func(r *reader) error {
		for _, h := range hits {
			e, there, err := r.entity(s.at(h.Slot).ref)
			if err != nil {
				return err
			}
			if there {
				out = append(out, e)
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// entity returns what the file says of an entity, and whether it is there: it
// may have been deleted since the snapshot.
func (r *reader) entity(ref schema.Ref) (e schema.Entity, there bool, err error) {
	k := key(ref)
	b := r.entities.Get(k)
	if b == nil {
		return e, false, nil
	}
	found, _, err := decode(k, b)
	if err != nil || found.deleted {
		return e, false, err
	}
	e, err = found.entity()
	return e, err == nil, err
}
