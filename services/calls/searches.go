package calls

import (
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/toolstream/toolstream/internal/identity"
)

// What is remembered of searches, to find that of a call which does not name one.
const (
	recent      = 10 * time.Minute
	maxSearches = 8 // of a caller and session
	maxShown    = 50
	maxSessions = 5_000
)

// searcher is who searches, in which session.
type searcher struct{ tenant, subject, session string }

// search is what one search has shown.
type search struct {
	id    string
	at    time.Time
	tools []string
}

// searches remembers what callers were shown.
type searches struct {
	now func() time.Time

	mu   sync.Mutex
	list *lru.Cache[searcher, []search]
}

func newSearches(now func() time.Time) *searches {
	list, _ := lru.New[searcher, []search](maxSessions) // which fails for none at all
	return &searches{now: now, list: list}
}

// note remembers a search.
func (s *searches) note(caller identity.Caller, session, id string, tools []string) {
	if len(tools) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	who := searcher{caller.Tenant, caller.Subject, session}
	all, _ := s.list.Get(who)
	all = append(all, search{id, s.now(), slices.Clone(tools[:min(len(tools), maxShown)])})
	s.list.Add(who, all[max(0, len(all)-maxSearches):])
}

// last returns the newest search of a caller and session that showed a tool, "" where none did.
func (s *searches) last(caller identity.Caller, session, tool string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, _ := s.list.Get(searcher{caller.Tenant, caller.Subject, session})
	for _, one := range slices.Backward(all) {
		if s.now().Sub(one.at) > recent {
			break
		}
		if slices.Contains(one.tools, tool) {
			return one.id
		}
	}
	return ""
}

// erase forgets the searches of a tenant.
func (s *searches) erase(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, who := range s.list.Keys() {
		if who.tenant == tenant {
			s.list.Remove(who)
		}
	}
}
