package trainer

import (
	"maps"
	"strings"
)

// Erase forgets everything about a tenant. While it is erasing, what the store still has of
// the tenant is not read again.
func (s *Service) Erase(tenant string, erasing bool) error {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	delete(s.erasing, tenant)
	if erasing {
		s.erasing[tenant] = true
	}
	of := func(owner string) bool { return owner == tenant || strings.HasPrefix(owner, tenant+".") }
	maps.DeleteFunc(s.stored, func(key string, _ entry) bool {
		for _, prefix := range []string{liveKey, versionKey, usageKey} {
			if owner, ok := strings.CutPrefix(key, prefix); ok {
				return of(owner)
			}
		}
		return false
	})
	maps.DeleteFunc(s.synced, func(key string, _ bool) bool { return of(strings.TrimPrefix(key, usageKey)) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory = nil // it is loaded again, without the tenant
	return s.deps.State.Erase(func(key string) bool {
		kind, owner, _ := splitKey(key)
		return kind != keyPosition && owner == tenant
	})
}
