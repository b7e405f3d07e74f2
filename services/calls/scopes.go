package calls

import (
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/policy"
)

// maxScopes bounds the scopes that are kept: of callers, by action.
const maxScopes = 4096

// scopes keeps what callers may call: it is asked for every result of a search.
type scopes struct {
	policy *policy.Store
	list   *lru.Cache[scopeKey, scoped]
}

type scopeKey struct {
	tenant, subject, groups string
	role                    identity.Role
	action                  policy.Action
}

type scoped struct {
	of    *policy.Policy
	scope *policy.Scope
}

func newScopes(store *policy.Store) *scopes {
	list, _ := lru.New[scopeKey, scoped](maxScopes) // which fails for none at all
	return &scopes{store, list}
}

// of returns the tools with which a caller may do something. The error is policy.ErrUnknown.
func (s *scopes) of(c identity.Caller, a policy.Action) (*policy.Scope, error) {
	now, err := s.policy.Of(c.Tenant)
	if err != nil {
		return nil, err
	}
	key := scopeKey{c.Tenant, c.Subject, strings.Join(c.Groups, "\x00"), c.Role, a}
	if known, ok := s.list.Get(key); ok && known.of == now {
		return known.scope, nil
	}
	scope := now.Scope(c, a)
	s.list.Add(key, scoped{now, scope})
	return scope, nil
}
