package deadletter

import (
	"cmp"
	"slices"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
)

// index finds the descriptions of dead letters. It holds a bounded number of them: it
// forgets closed before open letters, letters of the tenant with the most letters first,
// and old before new ones. It counts forgotten open letters. Calls must not overlap.
type index struct {
	keep      int
	letters   map[string]*Letter   // by id
	byKey     map[string][]*Letter // by the key of the record
	tenants   map[string]*tenantIndex
	decisions map[string]events.DeadLetterState // by id
	read      map[int]uint64                    // how far the bus was read, by partition
}

// tenantIndex holds the dead letters of one tenant.
type tenantIndex struct {
	letters   []*Letter // by the time of their failure, once they are sorted
	sorted    bool
	open      int
	forgotten int       // open letters that did not fit
	oldest    time.Time // when the first of those failed
}

func newIndex(keep int) *index {
	return &index{
		keep: keep, letters: map[string]*Letter{}, byKey: map[string][]*Letter{}, tenants: map[string]*tenantIndex{},
		decisions: map[string]events.DeadLetterState{}, read: map[int]uint64{},
	}
}

// tenant returns the dead letters of a tenant.
func (x *index) tenant(name string) *tenantIndex {
	if x.tenants[name] == nil {
		x.tenants[name] = &tenantIndex{}
	}
	return x.tenants[name]
}

// ordered returns the dead letters of a tenant, the oldest first.
func (x *index) ordered(tenant string) []*Letter {
	t := x.tenant(tenant)
	t.sort()
	return t.letters
}

func (t *tenantIndex) sort() {
	if !t.sorted {
		slices.SortFunc(t.letters, func(a, b *Letter) int { return a.compare(*b) })
	}
	t.sorted = true
}

// put adds a dead letter, or replaces the letter with the same id. An earlier decision holds,
// because the same id means the same failure.
func (x *index) put(l Letter) {
	if state, ok := x.decisions[l.ID]; ok {
		l.State = state
	}
	t := x.tenant(l.tenant)
	old := x.letters[l.ID]
	if old != nil && old.Key == l.Key {
		x.setState(old, l.State)
		t.sorted = t.sorted && old.Failed.Equal(l.Failed)
		*old = l
		return
	}
	if old != nil { // not written by a stage
		x.remove(x.tenant(old.tenant), func(l *Letter) bool { return l == old })
	}
	t.sorted = len(t.letters) == 0 || t.sorted && t.letters[len(t.letters)-1].compare(l) < 0
	t.letters = append(t.letters, &l)
	x.letters[l.ID] = &l
	x.byKey[l.Key] = append(x.byKey[l.Key], &l)
	if l.open() {
		t.open++
	}
	if len(x.letters) > x.keep {
		x.forget()
	}
}

// setState sets the state of a dead letter in the index.
func (x *index) setState(l *Letter, state events.DeadLetterState) {
	t := x.tenant(l.tenant)
	if l.open() {
		t.open--
	}
	if l.State = state; l.open() {
		t.open++
	}
}

// decide records a decision, which may arrive before its dead letter.
func (x *index) decide(id string, state events.DeadLetterState) {
	x.decisions[id] = state
	if l := x.letters[id]; l != nil {
		x.setState(l, state)
	}
}

func (x *index) remove(t *tenantIndex, which func(*Letter) bool) {
	t.letters = slices.DeleteFunc(t.letters, func(l *Letter) bool {
		if !which(l) {
			return false
		}
		delete(x.letters, l.ID)
		x.byKey[l.Key] = slices.DeleteFunc(x.byKey[l.Key], func(other *Letter) bool { return other == l })
		if len(x.byKey[l.Key]) == 0 {
			delete(x.byKey, l.Key)
		}
		if l.open() {
			t.open--
		}
		return true
	})
}

// forget removes up to a tenth of the letters, so that it runs rarely.
func (x *index) forget() {
	open, _ := x.count()
	closed := open < len(x.letters) // only closed ones, while there are any
	var most *tenantIndex
	candidates := 0
	for _, t := range x.tenants {
		n := t.open
		if closed {
			n = len(t.letters) - t.open
		}
		if n > candidates {
			most, candidates = t, n
		}
	}
	most.sort()
	left := max(x.keep/10, 1)
	x.remove(most, func(l *Letter) bool {
		if left == 0 || l.open() == closed {
			return false
		}
		left--
		if closed {
			delete(x.decisions, l.ID)
			return true
		}
		if most.forgotten == 0 || l.Failed.Before(most.oldest) {
			most.oldest = l.Failed
		}
		most.forgotten++
		return true
	})
}

// count returns how many open dead letters there are, and how many were forgotten.
func (x *index) count() (open, forgotten int) {
	for _, t := range x.tenants {
		open += t.open
		forgotten += t.forgotten
	}
	return open, forgotten
}

// reasons counts the open dead letters of a tenant by reason and stage, the most first.
func (x *index) reasons(tenant string) []reasonCount {
	open := map[reasonCount]int{}
	for _, l := range x.tenant(tenant).letters {
		if l.open() {
			open[reasonCount{Reason: l.Reason, Stage: l.Stage}]++
		}
	}
	out := []reasonCount{}
	for r, n := range open {
		out = append(out, reasonCount{r.Reason, r.Stage, n})
	}
	slices.SortFunc(out, func(a, b reasonCount) int {
		return cmp.Or(cmp.Compare(b.Open, a.Open), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Stage, b.Stage))
	})
	return out
}

// oldestOpen returns the time of the oldest open failure, zero without open letters.
func (x *index) oldestOpen() (oldest time.Time) {
	first := func(at time.Time) {
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	for _, t := range x.tenants {
		if t.forgotten > 0 {
			first(t.oldest)
		}
		for _, l := range t.letters {
			if l.open() {
				first(l.Failed)
			}
		}
	}
	return oldest
}
