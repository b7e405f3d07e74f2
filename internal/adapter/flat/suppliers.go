package flat

import (
	"cmp"
	"context"
	"slices"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/lexical"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Suppliers returns for each tool the tools that answer with what it requires:
// those, few enough, whose response holds all words of a parameter's name. They
// stand in the order of their ids. A tool that is not there has none.
func (i *Index) Suppliers(ctx context.Context, tenant string, tools []string) ([][]index.Supplier, error) {
	out := make([][]index.Supplier, len(tools))
	t := i.find(tenant)
	if t == nil {
		return out, ctx.Err()
	}
	s := t.now.Load()
	for n, id := range tools {
		e, _, there, err := i.Get(ctx, schema.Ref{Tenant: tenant, Kind: schema.KindTool, ID: id})
		if err != nil {
			return nil, err
		}
		if there {
			out[n] = s.suppliers(&e)
		}
	}
	return out, nil
}

func (s *snapshot) suppliers(taker *schema.Entity) []index.Supplier {
	shares := map[string]float64{}
	for _, p := range taker.Document.Parameters {
		if !p.Required {
			continue
		}
		ids := s.answering(p.Name, taker.ID)
		for _, id := range ids {
			shares[id] = max(shares[id], index.SupplierShare(len(ids)))
		}
	}
	out := make([]index.Supplier, 0, len(shares))
	for id, share := range shares {
		out = append(out, index.Supplier{ID: id, Share: share})
	}
	slices.SortFunc(out, func(a, b index.Supplier) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// answering returns the tools but one that answer with a parameter, none where
// they are too many.
func (s *snapshot) answering(parameter, but string) []string {
	slots, few := s.lexical.Holding(lexical.Response, parameter, index.MaxSuppliers+1)
	if !few {
		return nil
	}
	var ids []string
	for _, slot := range slots {
		if t := s.at(slot); t != nil && t.ref.Kind == schema.KindTool && t.ref.ID != but {
			ids = append(ids, t.ref.ID)
		}
	}
	if len(ids) > index.MaxSuppliers {
		return nil
	}
	return ids
}
