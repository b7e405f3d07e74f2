package policy

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The effects of a change are those on all callers that grants name, also where only those are
// looked at whom the change is for.
func TestEffectsAreOfEverybodyWhomAChangeIsFor(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var tools []Tool
	for i := range 12 {
		tools = append(tools, ToolOf(schema.Ref{Kind: schema.KindTool, ID: fmt.Sprintf("t%02d", i)}, fmt.Sprint("p", i%3), "", []string{fmt.Sprint("a", i%4)}))
	}
	grants := func(n int) (out []Grant) {
		for range n {
			g := Grant{
				Effect: []Effect{Allow, Allow, Deny}[rng.IntN(3)], Action: Actions()[rng.IntN(3)],
				On: []string{"*", "provider:p1", "provider:p2", "tag:a1", "tool:t03"}[rng.IntN(5)],
				To: []string{"*", "group:g1", "group:g2", "subject:s1", "role:reader", "role:caller", "role:operator"}[rng.IntN(7)],
			}
			out = append(out, g)
		}
		return out
	}
	seen := 0
	for range 300 {
		kept := grants(rng.IntN(6))
		before, err := New("1", append(grants(rng.IntN(3)), kept...))
		if err != nil {
			t.Fatal(err)
		}
		after, err := New("2", append(grants(rng.IntN(3)), kept...))
		if err != nil {
			t.Fatal(err)
		}
		want := []Effects{}
		for _, who := range []string{"*", "group:g1", "group:g2", "role:admin", "role:caller", "role:operator", "role:reader", "role:writer", "subject:s1"} {
			if !slices.ContainsFunc(slices.Concat(before.Grants, after.Grants), func(g Grant) bool { return g.To == who }) && who[0] != '*' && who[0] != 'r' {
				continue
			}
			for _, action := range Actions() {
				if who == "role:reader" && action != Find {
					continue // which readers may not, whatever is granted
				}
				caller := identity.Caller{Role: identity.Reader}
				if who != Anything {
					if caller, err = callerOf(who); err != nil {
						t.Fatal(err)
					}
				}
				if caller.Role == identity.Reader && action != Find {
					caller.Role = identity.Calling
				}
				e := Effects{Who: who, Action: action}
				e.count(before.Scope(caller, action), after.Scope(caller, action), tools)
				if e.Loses.Tools+e.Gains.Tools > 0 {
					want = append(want, e)
				}
			}
		}
		if got := effects(before, after, slices.Values(tools)); !reflect.DeepEqual(got, want) {
			t.Fatalf("from %v to %v: %+v, want %+v", before.Grants, after.Grants, got, want)
		}
		seen += len(want)
	}
	if seen < 100 {
		t.Errorf("%d effects were seen", seen)
	}
}
