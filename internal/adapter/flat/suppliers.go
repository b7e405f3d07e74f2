package flat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/lexical"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Suppliers returns for each tool the tools that answer with what it requires:
// those, few enough, whose response holds all words of a parameter's name. They
// stand in the order of their ids, and are not to be changed. A tool that is not
// there has none.
func (i *Index) Suppliers(ctx context.Context, tenant string, tools []string) ([][]index.Supplier, error) {
	out := make([][]index.Supplier, len(tools))
	t := i.find(tenant)
	if t == nil {
		return out, ctx.Err()
	}
	defer runtime.KeepAlive(t) // or its file ends while its words are read
	s := t.now.Load()
	err := i.store.read(func(r *reader) error {
		for n, id := range tools {
			slot, there := t.slotOf(schema.KindTool, id, s)
			if !there || !slices.Contains(s.at(slot).required, true) {
				continue
			}
			if kept, ok := s.supply.Load(slot); ok {
				out[n] = kept.([]index.Supplier)
				continue
			}
			names, err := r.required(s.at(slot).ref)
			if err != nil {
				return err
			}
			out[n] = s.suppliers(slot, names)
			s.supply.Store(slot, out[n])
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// required returns the names of the first parameters that an entity requires,
// none where it is not there.
func (r *reader) required(ref schema.Ref) ([]string, error) {
	k := key(ref)
	b := r.entities.Get(k)
	if b == nil {
		return nil, nil
	}
	found, _, err := decode(k, b)
	if err != nil || found.deleted {
		return nil, err
	}
	var doc struct {
		Parameters []struct {
			Name     string
			Required bool
		}
	}
	if err := json.Unmarshal(found.document, &doc); err != nil {
		return nil, fmt.Errorf("flat: document of %q: %w", ref.ID, err)
	}
	var names []string
	for _, p := range doc.Parameters {
		if p.Required && len(names) < index.MaxSupplied {
			names = append(names, p.Name)
		}
	}
	return names, nil
}

// suppliers returns the other tools that answer with what the tool in a slot
// takes.
func (s *snapshot) suppliers(taker uint32, names []string) []index.Supplier {
	shares := map[string]float64{}
	another := func(slot uint32) bool { return slot != taker && s.isTool(slot) }
	for _, name := range names {
		slots, few := s.lexical.Holding(lexical.Response, name, index.MaxSuppliers, another)
		if !few {
			continue
		}
		for _, slot := range slots {
			id := s.at(slot).ref.ID
			shares[id] = max(shares[id], index.SupplierShare(len(slots)))
		}
	}
	out := make([]index.Supplier, 0, len(shares))
	for id, share := range shares {
		out = append(out, index.Supplier{ID: id, Share: share})
	}
	slices.SortFunc(out, func(a, b index.Supplier) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
