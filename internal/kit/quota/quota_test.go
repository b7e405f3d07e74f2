package quota

import (
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestATenantMayHaveALimitOfItsOwn(t *testing.T) {
	q := check.Value(Parse([]string{"600", "acme=3000", "beta=0"}))(t)
	for tenant, want := range map[string]int{"acme": 3000, "beta": 0, "default": 600} {
		if got := q.Of(tenant); got != want {
			t.Errorf("%s: %d, want %d", tenant, got, want)
		}
	}
	if q.None() || !(Quota{"": 0}).None() || Quota(nil).Of("acme") != 0 {
		t.Error("a limit is there where none is set, or none where one is")
	}
}

func TestWhatIsNoLimitIsRefused(t *testing.T) {
	for _, member := range []string{"", "many", "-1", "1.5", "=5", "acme=", "acme=-1", "acme/planner=5"} {
		if q, err := Parse([]string{member}); err == nil {
			t.Errorf("%q: %v", member, q)
		}
	}
	for _, list := range [][]string{{"1", "2"}, {"acme=1", "acme=1"}} {
		if q, err := Parse(list); err == nil {
			t.Errorf("%q: %v", list, q)
		}
	}
}
