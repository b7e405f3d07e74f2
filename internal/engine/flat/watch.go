package flat

import (
	"iter"
	"math/bits"
	"sync/atomic"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Changed is the change of an entity by a batch.
type Changed struct {
	schema.Ref
	Revision uint64
	Before   *policy.Tool // as grants saw it; nil: it was not there
	After    *policy.Tool // as grants see it; nil: it was deleted
}

// watcher receives changes. The zero value has no listener.
type watcher struct {
	fn atomic.Pointer[func(string, iter.Seq[Changed])]
}

// Watch calls fn with the changes of each batch to a tenant once searches see them, in place of
// any earlier function; nil ends that. The writer waits for fn, which reads the changes before it
// returns or not at all.
func (w *watcher) Watch(fn func(tenant string, changes iter.Seq[Changed])) {
	if fn == nil {
		w.fn.Store(nil)
		return
	}
	w.fn.Store(&fn)
}

// tell passes a batch to the watcher, with the entities that its records replaced.
func (w *watcher) tell(replaced []*entity, records []*record, now *tenants) {
	fn := w.fn.Load()
	if fn == nil {
		return
	}
	byTenant := map[string][]int{} // places in records
	for n, r := range records {
		byTenant[r.Tenant] = append(byTenant[r.Tenant], n)
	}
	for tenant, some := range byTenant {
		(*fn)(tenant, func(yield func(Changed) bool) {
			for _, n := range some {
				ref := records[n].Ref
				if !yield(Changed{Ref: ref, Revision: records[n].Version.Revision, Before: replaced[n].known(), After: now.entity(ref).known()}) {
					return
				}
			}
		})
	}
}

// known returns an entity as grants see it, nil if it is missing or deleted.
func (e *entity) known() *policy.Tool {
	if e == nil || e.deleted() {
		return nil
	}
	t := e.tool()
	return &t
}

// Sizes counts the tools of every tenant.
func (i *Index) Sizes() map[string]int {
	out := map[string]int{}
	for name, t := range i.tenants.all() {
		out[name] = 0
		for _, b := range t.now.Load().blocks {
			out[name] += bits.OnesCount64(b.live &^ b.providers)
		}
	}
	return out
}
