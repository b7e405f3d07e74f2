package policy

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// A cached scope is the scope of the caller, the action and the version.
func TestCachedScopesAreThoseOfTheGrants(t *testing.T) {
	c, version := newCache(), 0
	var callers []identity.Caller
	rapid.Check(t, func(t *rapid.T) {
		version++
		callers = append(callers, drawCaller(t))
		p := check.Value(New(fmt.Sprint(version), drawPolicy(t).Grants))(t)
		for range 2 {
			for _, caller := range callers[max(0, len(callers)-5):] {
				for _, a := range Actions() {
					if got, want := c.scope(p, caller, a), p.Scope(caller, a); !reflect.DeepEqual(got, want) {
						t.Fatalf("%s for %+v: %+v, want %+v", a, caller, got, want)
					}
				}
			}
		}
	})
}

// A scope is made once, and the cache has a bound in scopes and in names.
func TestTheCacheOfScopesHasABound(t *testing.T) {
	c := newCache()
	var grants []Grant
	for i := range MaxGrants {
		grants = append(grants, Grant{Effect: Allow, Action: Find, On: fmt.Sprint("tool:", i), To: "*"})
	}
	p := check.Value(New("1", grants))(t)
	anna := identity.Caller{Subject: "anna"}
	if first := c.scope(p, anna, Find); c.scope(p, anna, Find) != first {
		t.Error("the scope of a caller is made twice")
	}
	for i := range 40 {
		c.scope(p, identity.Caller{Subject: fmt.Sprint(i)}, Find)
	}
	if n := c.names.Load(); n > maxCached || n < maxCached/2 || c.scopes.Len() != int(n)/(MaxGrants+1) {
		t.Errorf("%d names of %d scopes are cached", n, c.scopes.Len())
	}
	c.scope(p, identity.Caller{Tenant: "acme", Subject: "anna"}, Find)
	before := c.scopes.Len()
	if c.erase("acme"); c.scopes.Len() != before-1 {
		t.Error("the scope of an erased tenant is cached")
	}
}

func BenchmarkScope(b *testing.B) {
	var grants []Grant
	for i := range MaxGrants {
		grants = append(grants, Grant{Effect: Allow, Action: Find, On: fmt.Sprint("tool:", i), To: "*"})
	}
	p, anna, c := check.Value(New("1", grants))(b), identity.Caller{Subject: "anna"}, newCache()
	b.Run("made", func(b *testing.B) {
		for b.Loop() {
			p.Scope(anna, Find)
		}
	})
	b.Run("cached", func(b *testing.B) {
		for b.Loop() {
			c.scope(p, anna, Find)
		}
	})
}
