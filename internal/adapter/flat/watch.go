package flat

import (
	"iter"
	"math/bits"

	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Changed is what a batch has made of an entity.
type Changed struct {
	schema.Ref
	Revision uint64
	Before   *policy.Tool // what grants knew it by; nil: it was not there
	After    *policy.Tool // what they know it by; nil: it is not there any more
}

// Watch has fn called with what each batch has changed of a tenant, once searches see it, in
// place of what was called before; nil ends that. The writer waits for fn, which reads the
// changes before it returns or not at all.
func (i *Index) Watch(fn func(tenant string, changes iter.Seq[Changed])) {
	if fn == nil {
		i.watcher.Store(nil)
		return
	}
	i.watcher.Store(&fn)
}

// tell tells who watches of a batch.
func (i *Index) tell(replaced []*entity, records []*record) {
	fn := i.watcher.Load()
	if fn == nil {
		return
	}
	of := map[string][]int{} // records by tenant
	for n, r := range records {
		of[r.Tenant] = append(of[r.Tenant], n)
	}
	for tenant, some := range of {
		(*fn)(tenant, func(yield func(Changed) bool) {
			for _, n := range some {
				c := Changed{Ref: records[n].Ref, Revision: records[n].Version.Revision, Before: replaced[n].known(), After: i.entity(records[n].Ref).known()}
				if !yield(c) {
					return
				}
			}
		})
	}
}

// known returns what grants know an entity by, nil where it is not there.
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
	i.tenants.Range(func(name, t any) bool {
		out[name.(string)] = t.(*tenant).now.Load().tools()
		return true
	})
	return out
}

// tools counts the tools of a snapshot.
func (s *snapshot) tools() (n int) {
	for _, b := range s.blocks {
		n += bits.OnesCount64(b.live &^ b.providers)
	}
	return n
}
