package policy

import (
	"fmt"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/toolstream/toolstream/internal/kit/identity"
)

const (
	maxScopes = 1024    // scopes that are cached
	maxCached = 1 << 18 // names in them: some 25 MB
)

// cache holds the scopes that were used last. A scope costs a look at every grant of its tenant.
type cache struct {
	scopes *lru.Cache[scopeKey, *Scope]
	names  atomic.Int64
}

// scopeKey identifies a scope: the version names the grants.
type scopeKey struct {
	tenant, version, subject, groups string
	role                             identity.Role
	action                           Action
}

func newCache() *cache {
	c := &cache{}
	var err error
	c.scopes, err = lru.NewWithEvict(maxScopes, func(_ scopeKey, s *Scope) { c.names.Add(-s.size()) })
	if err != nil {
		panic(err) // only a size below 1 is an error
	}
	return c
}

// size returns the weight of a scope in the cache.
func (s *Scope) size() int64 { return int64(1 + s.Allow.Len() + s.Deny.Len()) }

// scope returns the scope of a caller, which is not to be changed.
func (c *cache) scope(p *Policy, caller identity.Caller, a Action) *Scope {
	if len(p.Grants) == 0 {
		return nil
	}
	key := scopeKey{caller.Tenant, p.Version, caller.Subject, fmt.Sprintf("%q", caller.Groups), caller.Role, a}
	if s, there := c.scopes.Get(key); there {
		return s
	}
	s := p.Scope(caller, a)
	if there, _ := c.scopes.ContainsOrAdd(key, s); !there {
		c.names.Add(s.size())
	}
	for c.names.Load() > maxCached {
		if _, _, removed := c.scopes.RemoveOldest(); !removed {
			break
		}
	}
	return s
}

// erase forgets the scopes of a tenant.
func (c *cache) erase(tenant string) {
	for _, key := range c.scopes.Keys() {
		if key.tenant == tenant {
			c.scopes.Remove(key)
		}
	}
}
