package flat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
	"time"
	"unique"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/lexical"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Get returns an entity and its raw document, and whether it is there for the scope. A
// hidden entity takes no longer than a missing one.
func (i *Index) Get(ctx context.Context, ref schema.Ref, scope *policy.Scope) (e schema.Entity, raw json.RawMessage, there bool, err error) {
	if err := i.ready(ctx); err != nil {
		return schema.Entity{}, nil, false, err
	}
	found := i.tenants.entity(ref)
	if found == nil || found.deleted() || !found.inScope(scope) {
		return schema.Entity{}, nil, false, nil
	}
	r, err := found.read()
	if err != nil {
		return schema.Entity{}, nil, false, err
	}
	e, err = r.entity()
	return e, r.raw, err == nil, err
}

// Named returns the ids of the tools of a scope that have a callable name, in their order.
// A name that is not there in the scope is looked up in the same time, whether there is a
// tool outside.
func (i *Index) Named(ctx context.Context, tenant, name string, scope *policy.Scope) ([]string, error) {
	if err := i.ready(ctx); err != nil {
		return nil, err
	}
	t, hash := i.tenants.find(tenant), nameHash(name)
	if t == nil || hash == 0 {
		return nil, nil
	}
	var ids []string
	for _, b := range t.now.Load().blocks {
		for n := range b.called { // the array is not copied
			if b.called[n] != hash || !b.entities[n].inScope(scope) {
				continue
			}
			r, err := b.entities[n].read()
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return nil, err
			}
			if r.Callable == name {
				ids = append(ids, r.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// nameSeed keeps anybody from making names of the same hash.
var nameSeed = maphash.MakeSeed()

// nameHash returns the hash of a callable name that is kept in memory, 0 only for the empty name.
// Records tell names with the same hash apart.
func nameHash(name string) uint32 {
	if name == "" {
		return 0
	}
	return max(1, uint32(maphash.String(nameSeed, name)))
}

// List returns up to limit entities whose ids follow cursor, in the order of
// their ids, and the cursor of the next page, empty at the end. An empty provider
// lists every owner's.
func (i *Index) List(ctx context.Context, tenant string, l index.Listing) ([]schema.Entity, string, error) {
	if err := i.ready(ctx); err != nil {
		return nil, "", err
	}
	if l.Limit < 1 {
		return nil, "", fmt.Errorf("flat: a page of %d entities", l.Limit)
	}
	t := i.tenants.find(tenant)
	if t == nil {
		return nil, "", nil
	}
	s := t.now.Load()
	found := s.following(l, t.scopes.masks(l.Scope, s.blocks))
	next := ""
	if len(found) > l.Limit {
		found, next = found[:l.Limit], found[l.Limit-1].ref.ID
	}
	page := make([]schema.Entity, len(found))
	for n, f := range found {
		r, err := f.read()
		if err == nil {
			page[n], err = r.entity()
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, "", err
		}
	}
	return page, next, nil
}

// following returns the entities of a page, in the order of their ids, and one more. Masks
// are the slots of each block that it may hold, nil for all.
func (s *snapshot) following(l index.Listing, masks []uint64) []*entity {
	owner, n := unique.Make(l.Provider), l.Limit+1
	var first []*entity
	cut := func() {
		slices.SortFunc(first, func(a, b *entity) int { return cmp.Compare(a.ref.ID, b.ref.ID) })
		first = first[:min(n, len(first))]
	}
	for i, b := range s.blocks {
		live := b.live
		if l.Quarantined {
			live &= b.hidden
		}
		if masks != nil {
			live &= masks[i]
		}
		for ; live != 0; live &= live - 1 {
			e := b.entities[bits.TrailingZeros64(live)]
			if e.ref.Kind != l.Kind || e.ref.ID <= l.Cursor || l.Provider != "" && e.provider != owner {
				continue
			}
			if first = append(first, e); len(first) == 4*n+blockSize {
				cut()
			}
		}
	}
	cut()
	return first
}

// Tools yields the facts that grants match for every tool and provider of a tenant, in no order.
func (i *Index) Tools(tenant string) iter.Seq[policy.Tool] {
	return func(yield func(policy.Tool) bool) {
		t := i.tenants.find(tenant)
		if t == nil {
			return
		}
		for _, e := range t.known() {
			if !e.deleted() && !yield(e.tool()) {
				return
			}
		}
	}
}

// Origins returns the origins of a tenant's tools, each once.
func (i *Index) Origins(tenant string) []index.Origin {
	t := i.tenants.find(tenant)
	if t == nil {
		return nil
	}
	found := map[unique.Handle[index.Origin]]bool{}
	for _, b := range t.now.Load().blocks {
		for tools := b.live &^ b.providers; tools != 0; tools &= tools - 1 {
			found[b.origin[bits.TrailingZeros64(tools)]] = true
		}
	}
	out := make([]index.Origin, 0, len(found))
	for o := range found {
		out = append(out, o.Value())
	}
	return out
}

// Version returns the newest version applied of an entity, deletes included,
// for as long as it is remembered.
func (i *Index) Version(ref schema.Ref) (v schema.Version, deleted, known bool) {
	e := i.tenants.entity(ref)
	if e == nil {
		return schema.Version{}, false, false
	}
	return e.version, e.deleted(), true
}

// All yields every entity that Version knows, in no order. An entity that changes meanwhile may be
// yielded before or after its change.
func (i *Index) All() iter.Seq[schema.Ref] {
	return func(yield func(schema.Ref) bool) {
		for _, t := range i.tenants.all() {
			for _, e := range t.known() {
				if !yield(e.ref) {
					return
				}
			}
		}
	}
}

// Previous returns the document and the vectors that are stored of an entity.
// The embedder reuses the vectors of unchanged texts.
func (i *Index) Previous(ref schema.Ref) (schema.Document, events.Vectors, bool) {
	found := i.tenants.entity(ref)
	if found == nil || found.deleted() {
		return schema.Document{}, events.Vectors{}, false
	}
	r, err := found.read()
	if err != nil {
		return schema.Document{}, events.Vectors{}, false
	}
	e, err := r.entity()
	r.vectors.Model, _ = i.Model()
	return e.Document, r.vectors, err == nil
}

// Stats counts the data of one tenant.
type Stats struct {
	Tools, Providers int
	Bare             int       // tools without any vector: found by words alone
	Quarantined      int       // tools and providers that searches leave out
	Uncovered        int       // tools and providers whose fields had no room for much of the source
	Pending          int       // tools that a language model will be asked about
	PendingSince     time.Time // when the first of them was accepted
	Vectors          int64     // bytes of the quantised vectors, in memory
	Postings         int64     // bytes of the lexical index, in memory
	Records          int64     // bytes of documents, raw documents and exact vectors, in the file
}

// Stats returns the counts of every tenant.
func (i *Index) Stats() map[string]Stats {
	out := map[string]Stats{}
	for name, t := range i.tenants.all() {
		s := t.now.Load().stats()
		if i.config.WordsOnly {
			s.Bare = 0 // their vectors are elsewhere
		}
		out[name] = s
	}
	return out
}

func (s *snapshot) stats() Stats {
	var out Stats
	for _, b := range s.blocks {
		providers := bits.OnesCount64(b.providers)
		out.Providers += providers
		out.Tools += bits.OnesCount64(b.live) - providers
		for i := range b.rows {
			out.Vectors += int64(len(b.rows[i].codes) + 4*len(b.rows[i].scales))
		}
		for _, e := range b.entities {
			if e == nil {
				continue
			}
			out.Records += int64(e.place.Load().Size())
			if e.ref.Kind == schema.KindTool && e.counts.total() == 0 {
				out.Bare++
			}
			if e.quarantined {
				out.Quarantined++
			}
			if e.uncovered {
				out.Uncovered++
			}
			if e.pending {
				out.Pending++
				if out.PendingSince.IsZero() || e.accepted.Before(out.PendingSince) {
					out.PendingSince = e.accepted
				}
			}
		}
	}
	out.Postings = s.lexical.Bytes()
	return out
}

// Described returns the n tools within the scope and the filters whose names and descriptions
// match a text best by BM25, best first, as the catalogue has them. Fewer share a word with it, as a rule, in a small registry.
//
// The name, the tags and stems are part of it: of the tools that the labels of
// Toolink and ToolBench ask for, 0.56 and 0.86 are among the first twenty, by
// the description's words alone 0.47 and 0.71.
func (i *Index) Described(ctx context.Context, tenant, words string, scope *policy.Scope, filters schema.Filters, n int) ([]schema.Entity, error) {
	if err := i.ready(ctx); err != nil {
		return nil, err
	}
	t := i.tenants.find(tenant)
	if t == nil {
		return nil, nil
	}
	s := t.now.Load()
	f := newFilter(&index.Lookup{Scope: scope, Filters: filters, Kinds: []schema.Kind{schema.KindTool}}, t, s)
	masks, _ := f.allowed(s.blocks)
	hits := s.lexical.Search(lexical.Name, s.lexical.Analyze(lexical.Name, words), n, func(slot uint32) bool { return has(masks, slot) })
	out := make([]schema.Entity, 0, len(hits))
	for _, h := range hits {
		r, err := s.at(h.Slot).read()
		if err != nil {
			return nil, err
		}
		e, err := r.entity()
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// Suppliers returns for each tool the tools that answer with its required parameters: tools
// whose response holds all words of a parameter's name, if they are few enough. They are in the
// order of their ids, and must not be changed. A missing tool has no suppliers.
func (i *Index) Suppliers(ctx context.Context, tenant string, tools []string) ([][]index.Supplier, error) {
	out := make([][]index.Supplier, len(tools))
	if err := i.ready(ctx); err != nil {
		return nil, err
	}
	t := i.tenants.find(tenant)
	if t == nil {
		return out, nil
	}
	s := t.now.Load()
	for n, id := range tools {
		slot, there := t.slotOf(schema.KindTool, id, s)
		if !there || !slices.Contains(s.at(slot).required, true) {
			continue
		}
		if kept, ok := s.suppliers.Load(slot); ok {
			out[n] = kept.([]index.Supplier)
			continue
		}
		names, err := s.at(slot).requiredNames()
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		out[n] = s.suppliersOf(slot, names)
		s.suppliers.Store(slot, out[n])
	}
	return out, nil
}

// requiredNames returns the names of the first parameters that an entity
// requires.
func (e *entity) requiredNames() ([]string, error) {
	r, err := e.read()
	if err != nil {
		return nil, err
	}
	var doc struct {
		Parameters []struct {
			Name     string
			Required bool
		}
	}
	if err := json.Unmarshal(r.document, &doc); err != nil {
		return nil, fmt.Errorf("flat: document of %q: %w", e.ref.ID, err)
	}
	var names []string
	for _, p := range doc.Parameters {
		if p.Required && len(names) < index.MaxSupplied {
			names = append(names, p.Name)
		}
	}
	return names, nil
}

// copiesOfSuppliers is how many tools are looked through for each supplier.
const copiesOfSuppliers = 20

// originals returns the tools that are not copies of older tools of other providers: copies do
// not make a supplier less specific.
func (s *snapshot) originals(slots []uint32) []uint32 {
	if len(slots) < 2 {
		return slots
	}
	slices.SortFunc(slots, func(a, b uint32) int {
		x, y := s.at(a), s.at(b)
		return cmp.Or(cmp.Compare(x.first, y.first), cmp.Compare(x.ref.ID, y.ref.ID))
	})
	var out []uint32
	var tools []index.Sketched
	for _, slot := range slots {
		tool := s.at(slot).sketch.Tool()
		if !s.copies(slot, &tool, out, tools) {
			out, tools = append(out, slot), append(tools, tool)
		}
	}
	return out
}

// copies reports whether the tool in a slot is a copy of any of others.
func (s *snapshot) copies(slot uint32, tool *index.Sketched, others []uint32, tools []index.Sketched) bool {
	for i, other := range others {
		if s.at(other).provider != s.at(slot).provider && tools[i].CopiedBy(tool) {
			return true
		}
	}
	return false
}

// suppliersOf returns the other tools that answer with the parameters of the tool in a slot.
func (s *snapshot) suppliersOf(taker uint32, names []string) []index.Supplier {
	shares := map[string]float64{}
	another := func(slot uint32) bool { return slot != taker && s.isTool(slot) }
	for _, name := range names {
		slots, few := s.lexical.MatchAll(lexical.Response, name, copiesOfSuppliers*index.MaxSuppliers, another)
		if slots = s.originals(slots); !few || len(slots) > index.MaxSuppliers {
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
