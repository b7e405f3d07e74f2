package identity

import (
	"reflect"
	"testing"
)

func TestFrom(t *testing.T) {
	if got := From(t.Context()); !reflect.DeepEqual(got, Caller{Tenant: DefaultTenant}) || got.Role.Includes(Reader) {
		t.Errorf("without a credential: %+v", got)
	}
	acme := Caller{Tenant: "acme", Subject: "planner", Role: Reader}
	if got := From(With(t.Context(), acme)); !reflect.DeepEqual(got, acme) {
		t.Errorf("got %+v", got)
	}
}

func TestARoleIncludesThoseBeforeIt(t *testing.T) {
	for i, role := range Roles() {
		for j, other := range Roles() {
			if role.Includes(other) != (i >= j) {
				t.Errorf("%s includes %s: %v", role, other, role.Includes(other))
			}
		}
		if Role("").Includes(role) || Role("root").Includes(role) {
			t.Errorf("no role, or an unknown one, includes %s", role)
		}
	}
}

func TestOnlyOperatorsOfTheDefaultTenantOperate(t *testing.T) {
	for _, tc := range []struct {
		c    Caller
		want bool
	}{
		{Anybody, true}, {Caller{Tenant: DefaultTenant, Role: Operator}, true}, {Caller{Tenant: DefaultTenant, Role: Writer}, false},
		{Caller{Tenant: DefaultTenant}, false}, {Caller{Tenant: "acme", Role: Admin}, false},
	} {
		if tc.c.Operates() != tc.want {
			t.Errorf("%+v operates: %v", tc.c, !tc.want)
		}
	}
}

func TestWhatDeclaresNoRoleNeedsAnAdmin(t *testing.T) {
	if got := Needed(nil); got != Admin {
		t.Errorf("nothing declared: %q", got)
	}
	if got := Needed(Needs(Writer)); got != Writer {
		t.Errorf("got %q", got)
	}
	if got := Needed(ProvenOtherwise()); got != "" {
		t.Errorf("proven otherwise: %q", got)
	}
}
