package flat

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"math/bits"
	"slices"
	"unique"

	bolt "go.etcd.io/bbolt"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Get returns an entity and its raw document, and whether it is there. Nothing
// of the vectors, which are most of a record, is copied.
func (i *Index) Get(ctx context.Context, ref schema.Ref) (e schema.Entity, raw json.RawMessage, there bool, err error) {
	if err := ctx.Err(); err != nil {
		return schema.Entity{}, nil, false, err
	}
	err = i.store.db.View(func(tx *bolt.Tx) error {
		k := key(ref)
		v := tx.Bucket(entityBucket).Get(k)
		if v == nil {
			return nil
		}
		r, _, err := decode(k, v)
		if err != nil || r.deleted {
			return err
		}
		if e, err = r.entity(); err != nil {
			return err
		}
		raw, there = bytes.Clone(r.raw), true
		return nil
	})
	return e, raw, there, err
}

// List returns up to limit entities whose ids follow cursor, in the order of
// their ids, and the cursor of the next page, empty at the end. An empty agent
// lists every owner's.
func (i *Index) List(ctx context.Context, tenant string, kind schema.Kind, agent, cursor string, limit int) ([]schema.Entity, string, error) {
	if agent != "" && kind == schema.KindTool {
		return i.listOwned(ctx, tenant, agent, cursor, limit)
	}
	var page []schema.Entity
	next := ""
	err := i.store.list(tenant, kind, cursor, func(r *record) (bool, error) {
		if r.deleted || agent != "" && r.agent != agent {
			return true, ctx.Err()
		}
		if len(page) >= limit {
			next = page[len(page)-1].ID
			return false, nil
		}
		e, err := r.entity()
		page = append(page, e)
		return true, err
	})
	if err != nil {
		return nil, "", err
	}
	return page, next, nil
}

// listOwned is List for the tools of an agent. Memory knows whose they are; the
// file would have to be read from end to end.
func (i *Index) listOwned(ctx context.Context, tenant, agent, cursor string, limit int) ([]schema.Entity, string, error) {
	var page []schema.Entity
	for _, id := range i.owned(tenant, agent, cursor) {
		e, _, ok, err := i.Get(ctx, schema.Ref{Tenant: tenant, Kind: schema.KindTool, ID: id})
		switch {
		case err != nil:
			return nil, "", err
		case !ok || e.Agent != agent: // it has changed since
		case len(page) >= limit:
			return page, page[len(page)-1].ID, nil
		default:
			page = append(page, e)
		}
	}
	return page, "", nil
}

// owned returns the ids above cursor of the tools of an agent, in their order.
func (i *Index) owned(tenant, agent, cursor string) []string {
	t := i.find(tenant)
	if t == nil {
		return nil
	}
	owner := unique.Make(agent)
	var ids []string
	for _, b := range t.now.Load().blocks {
		for rest := b.live &^ b.agents; rest != 0; rest &= rest - 1 {
			at := bits.TrailingZeros64(rest)
			if id := b.tools[at].ref.ID; b.owner[at] == owner && id > cursor {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// Version returns the newest version applied of an entity, deletes included,
// for as long as it is remembered.
func (i *Index) Version(ref schema.Ref) (v schema.Version, deleted, known bool) {
	e := i.entry(ref)
	if e == nil {
		return schema.Version{}, false, false
	}
	return e.version, e.slot == noSlot, true
}

// All yields every entity that Version knows, in no order. What changes
// meanwhile may come as it was before or after.
func (i *Index) All() iter.Seq[schema.Ref] {
	return func(yield func(schema.Ref) bool) {
		i.tenants.Range(func(tenantName, t any) bool {
			for n := range t.(*tenant).entries.all() {
				if !yield(schema.Ref{Tenant: tenantName.(string), Kind: n.kind, ID: n.id}) {
					return false
				}
			}
			return true
		})
	}
}

// Previous returns the document and the vectors that are stored of an entity.
// The embedder takes from it what has not changed.
func (i *Index) Previous(ref schema.Ref) (schema.Document, events.Vectors, bool) {
	r, err := i.store.get(ref, true)
	if err != nil || r == nil || r.deleted {
		return schema.Document{}, events.Vectors{}, false
	}
	e, err := r.entity()
	r.vectors.Model, _ = i.Model()
	return e.Document, r.vectors, err == nil
}

// Stats is what one tenant holds.
type Stats struct {
	Tools, Agents int
	Bare          int   // tools without any vector: found by words alone
	Quarantined   int   // tools that searches leave out
	Vectors       int64 // bytes of the quantised vectors, in memory
	Postings      int64 // bytes of the lexical index, in memory
	Records       int64 // bytes of documents, raw documents and exact vectors, in the file
}

// Stats counts what every tenant holds.
func (i *Index) Stats() map[string]Stats {
	out := map[string]Stats{}
	i.tenants.Range(func(name, t any) bool {
		out[name.(string)] = t.(*tenant).now.Load().stats()
		return true
	})
	return out
}

func (s *snapshot) stats() Stats {
	var out Stats
	for _, b := range s.blocks {
		agents := bits.OnesCount64(b.agents)
		out.Agents += agents
		out.Tools += bits.OnesCount64(b.live) - agents
		out.Vectors += int64(b.bytes())
		for _, t := range b.tools {
			if t != nil {
				out.add(t)
			}
		}
	}
	out.Postings = s.lexical.Stats().Bytes
	return out
}

func (s *Stats) add(t *tool) {
	s.Records += int64(t.record.size)
	if t.ref.Kind == schema.KindTool && t.record.counts.total() == 0 {
		s.Bare++
	}
	if t.quarantined {
		s.Quarantined++
	}
}
