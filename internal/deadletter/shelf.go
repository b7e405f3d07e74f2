package deadletter

import (
	"slices"
	"sync"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
)

// shelf is what a box remembers.
type shelf struct {
	keep int

	mu      sync.RWMutex // guards all below
	letters map[string]Letter
	byKey   map[string][]string           // ids of the letters of one record key
	closed  map[string]events.LetterState // what was decided, by letter
	open    int
}

func newShelf(keep int) shelf {
	return shelf{keep: keep, letters: map[string]Letter{}, byKey: map[string][]string{}, closed: map[string]events.LetterState{}}
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
	s.closed[id] = state
	l, ok := s.letters[id]
	if !ok {
		return
	}
	if l.State == events.LetterOpen {
		s.open--
	}
	l.State = state
	s.letters[id] = l
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

// forget takes out a tenth of the letters, closed ones before open ones and
// old ones before new ones, so that it seldom has to run. The caller holds mu.
func (s *shelf) forget() {
	all := make([]Letter, 0, len(s.letters))
	for _, l := range s.letters {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b Letter) int {
		aOpen, bOpen := a.State == events.LetterOpen, b.State == events.LetterOpen
		switch {
		case aOpen == bOpen:
			return a.compare(b)
		case bOpen:
			return -1
		}
		return 1
	})
	for _, l := range all[:len(all)-s.keep+s.keep/10] {
		s.remove(l.ID)
		delete(s.closed, l.ID)
	}
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
	if s.open == 0 {
		return oldest, false
	}
	for _, l := range s.letters {
		if l.State == events.LetterOpen && (!ok || l.Failed.Before(oldest)) {
			oldest, ok = l.Failed, true
		}
	}
	return oldest, ok
}

func (s *shelf) openCount() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.open
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
