package calls

import (
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/toolstream/toolstream/internal/kit/identity"
)

// How many searches are remembered, to find the search of a call that does not name it.
const (
	recent      = 10 * time.Minute
	maxSearches = 8 // of a caller and session
	maxShown    = 50
	maxSessions = 5_000
)

// searcher is a caller in a session.
type searcher struct{ tenant, subject, session string }

// search is one search and its results.
type search struct {
	id    string
	at    time.Time
	tools []string
}

// searches remembers the results of recent searches.
type searches struct {
	now func() time.Time

	mu   sync.Mutex
	list *lru.Cache[searcher, []search]
}

// add remembers a search.
func (s *searches) add(caller identity.Caller, session, id string, tools []string) {
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

// last returns the newest search of a caller and session that showed a tool, or "".
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
