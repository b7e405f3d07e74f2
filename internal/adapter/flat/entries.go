package flat

import (
	"iter"
	"sync"
)

// entries are what is known of a tenant's entities, deleted ones included, by
// name. A start fills saved, which is only read from then on: that takes a
// fifth of the time of filling what may change under its readers.
type entries struct {
	saved map[name]*entry
	later sync.Map // name to *entry, over saved; nil: forgotten
}

// known is an entry and whose it is.
type known struct {
	name  name
	entry *entry
}

func (e *entries) load(n name) *entry {
	if known, ok := e.later.Load(n); ok {
		return known.(*entry)
	}
	return e.saved[n]
}

func (e *entries) store(n name, known *entry) { e.later.Store(n, known) }

func (e *entries) forget(n name) {
	if e.saved[n] != nil {
		e.later.Store(n, (*entry)(nil))
		return
	}
	e.later.Delete(n)
}

// all yields what is known now: what changes meanwhile as it was before, or after, or both.
// What was saved comes first, or what changes between the two would not come at all.
func (e *entries) all() iter.Seq2[name, *entry] {
	return func(yield func(name, *entry) bool) {
		for n, known := range e.saved {
			if _, changed := e.later.Load(n); !changed && !yield(n, known) {
				return
			}
		}
		e.later.Range(func(n, known any) bool {
			k := known.(*entry)
			return k == nil || yield(n.(name), k)
		})
	}
}
