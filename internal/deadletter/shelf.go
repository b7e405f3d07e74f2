package deadletter

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
)

// shelf is what a box remembers. Of more letters than it keeps it forgets some, and knows
// how many of those were open; they are still on the bus, to be read again.
type shelf struct {
	keep int
	room chan struct{} // says that there is room again for what was forgotten

	mu      sync.RWMutex // guards all below
	letters map[string]Letter
	byKey   map[string][]string           // ids of the letters of one record key
	closed  map[string]events.LetterState // what was decided, by letter
	open    int

	at        map[int]uint64       // how far the bus was read, by partition
	forgotten map[string]forgotten // in this reading, by tenant
	goal      map[int]uint64       // how far the reading before had come, where this one has not yet
	before    map[string]forgotten // in that one: what is told until then
}

// forgotten is what a shelf knows of open letters of a tenant that it had no room for.
type forgotten struct {
	letters int
	oldest  time.Time
}

func newShelf(keep int) shelf {
	return shelf{
		keep: keep, room: make(chan struct{}, 1),
		letters: map[string]Letter{}, byKey: map[string][]string{}, closed: map[string]events.LetterState{},
		at: map[int]uint64{}, forgotten: map[string]forgotten{},
	}
}

// put stores a letter in place of the one of the same id. What was decided about
// that holds: the same id is the same failure.
func (s *shelf) put(l Letter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(l.ID)
	if state, ok := s.closed[l.ID]; ok {
		l.State = state
	}
	s.letters[l.ID] = l
	s.byKey[l.Key] = append(s.byKey[l.Key], l.ID)
	if l.State == events.LetterOpen {
		s.open++
	}
	if len(s.letters) > s.keep {
		s.forget()
	}
}

// decided notes a decision, whether its letter is known already or comes later.
func (s *shelf) decided(id string, state events.LetterState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decide(id, state)
}

// settled notes the decision about a letter of a tenant that was open and known. It may
// have been forgotten while it was decided about, in the same reading.
func (s *shelf) settled(tenant, id string, state events.LetterState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.decide(id, state) {
		return
	}
	f := s.forgotten[tenant]
	if f.letters--; f.letters > 0 {
		s.forgotten[tenant] = f
		return
	}
	delete(s.forgotten, tenant)
}

// decide notes a decision and reports whether its letter is known. The caller holds mu.
func (s *shelf) decide(id string, state events.LetterState) bool {
	s.closed[id] = state
	l, ok := s.letters[id]
	if !ok {
		return false
	}
	if l.State == events.LetterOpen {
		s.open--
	}
	l.State = state
	s.letters[id] = l
	if len(s.forgotten) > 0 && len(s.goal) == 0 && s.open <= s.keep/2 {
		select {
		case s.room <- struct{}{}:
		default:
		}
	}
	return true
}

// again prepares for a reading from the beginning.
func (s *shelf) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.room: // said twice
	default:
	}
	s.goal, s.before = s.at, s.forgotten
	s.at, s.forgotten = map[int]uint64{}, map[string]forgotten{}
}

// reached notes how far the bus was read.
func (s *shelf) reached(positions map[int]uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.at, positions)
	if len(s.goal) == 0 {
		return
	}
	maps.DeleteFunc(s.goal, func(partition int, goal uint64) bool { return s.at[partition] >= goal })
	if len(s.goal) == 0 {
		maps.DeleteFunc(s.closed, func(id string, _ events.LetterState) bool {
			_, known := s.letters[id]
			return !known
		})
	}
}

// missing returns what is known of forgotten letters. The caller holds mu.
func (s *shelf) missing() map[string]forgotten {
	if len(s.goal) > 0 {
		return s.before
	}
	return s.forgotten
}

// forgottenOf returns how many open letters of a tenant there was no room for.
func (s *shelf) forgottenOf(tenant string) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.missing()[tenant].letters
}

// stateOf returns what was decided about a letter, else what its record says.
func (s *shelf) stateOf(id string, record events.LetterState) events.LetterState {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if state, ok := s.closed[id]; ok {
		return state
	}
	return record
}

// remove takes a letter out. The caller holds mu.
func (s *shelf) remove(id string) {
	l, ok := s.letters[id]
	if !ok {
		return
	}
	delete(s.letters, id)
	if l.State == events.LetterOpen {
		s.open--
	}
	ids := slices.DeleteFunc(s.byKey[l.Key], func(other string) bool { return other == id })
	if len(ids) == 0 {
		delete(s.byKey, l.Key)
		return
	}
	s.byKey[l.Key] = ids
}

// forget takes out a tenth of the letters, so that it seldom has to run: closed ones
// before open ones, those of tenants that have many before those of others, and old ones
// before new ones. The caller holds mu.
func (s *shelf) forget() {
	room := s.keep - s.keep/10
	open := s.sorted(func(l Letter) bool { return l.State == events.LetterOpen })
	closed := s.sorted(func(l Letter) bool { return l.State != events.LetterOpen })
	for _, l := range closed[min(len(closed), max(0, room-len(open))):] {
		s.remove(l.ID)
		if len(s.goal) == 0 { // or what was read before the decision might be put after it
			delete(s.closed, l.ID)
		}
	}
	if len(open) <= room {
		return
	}
	of := map[string]int{}
	for _, l := range open {
		of[l.tenant]++
	}
	share, kept := share(slices.Sorted(maps.Values(of)), room), map[string]int{}
	for _, l := range open {
		if kept[l.tenant]++; kept[l.tenant] <= share {
			continue
		}
		s.remove(l.ID)
		f := s.forgotten[l.tenant]
		if f.letters++; f.letters == 1 || l.Failed.Before(f.oldest) {
			f.oldest = l.Failed
		}
		s.forgotten[l.tenant] = f
	}
}

// share returns how much each may have of some room, where those who want less, in
// wants from the least on, leave theirs to the others.
func share(wants []int, room int) int {
	for n, want := range wants {
		if each := room / (len(wants) - n); want > each {
			return each
		}
		room -= want
	}
	return room
}

// get returns a tenant's letter.
func (s *shelf) get(tenant, id string) (Letter, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l, ok := s.letters[id]
	return l, ok && l.tenant == tenant
}

// find returns the letters that match, the newest first.
func (s *shelf) find(match func(Letter) bool) []Letter {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sorted(match)
}

// sorted is find for a caller who holds mu.
func (s *shelf) sorted(match func(Letter) bool) []Letter {
	var out []Letter
	for _, l := range s.letters {
		if match(l) {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b Letter) int { return b.compare(a) })
	return out
}

// oldestOpen returns when the first of the open letters was given up, and whether
// there is one.
func (s *shelf) oldestOpen() (oldest time.Time, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, f := range s.missing() {
		if !ok || f.oldest.Before(oldest) {
			oldest, ok = f.oldest, true
		}
	}
	if s.open == 0 {
		return oldest, ok
	}
	for _, l := range s.letters {
		if l.State == events.LetterOpen && (!ok || l.Failed.Before(oldest)) {
			oldest, ok = l.Failed, true
		}
	}
	return oldest, ok
}

// openCount returns how many letters are open, those that were forgotten with them.
func (s *shelf) openCount() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	open := s.open
	for _, f := range s.missing() {
		open += f.letters
	}
	return open
}

// dead looks for a letter of the key, at this revision or a later one, that
// was not replayed.
func (s *shelf) dead(key string, revision uint64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.ContainsFunc(s.byKey[key], func(id string) bool {
		l := s.letters[id]
		return l.Revision >= revision && (l.State == events.LetterOpen || l.State == events.LetterDropped)
	})
}

// of returns the letters of a key.
func (s *shelf) of(key string) []Letter {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []Letter
	for _, id := range s.byKey[key] {
		out = append(out, s.letters[id])
	}
	return out
}
