package calls

import "testing"

// A tenant whose calls hang leaves room for those of others.
func TestATenantHasHalfOfAllCalls(t *testing.T) {
	all := total{slots: newSlots(4)}
	take := func(tenant string, want bool) {
		t.Helper()
		if got := all.take(tenant); got != want {
			t.Errorf("%s takes: %v, want %v", tenant, got, want)
		}
	}
	take("acme", true)
	take("acme", true)
	take("acme", false)
	take("other", true)
	take("third", true)
	take("other", false) // all are taken
	all.leave("acme")
	take("other", true)
	for _, tenant := range []string{"acme", "other", "other", "third"} {
		all.leave(tenant)
	}
	if all.slots.used != 0 || len(all.slots.by) != 0 {
		t.Errorf("left: %d, %v", all.slots.used, all.slots.by)
	}
}
