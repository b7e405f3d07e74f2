package policy

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The effects of a change are those on all callers that grants name, also where only those are
// looked at whom the change is for.
func TestEffectsCoverAllCallersOfAChange(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var tools []Tool
	for i := range 12 {
		tools = append(tools, ToolOf(schema.Ref{Kind: schema.KindTool, ID: fmt.Sprintf("t%02d", i)}, fmt.Sprint("p", i%3), "", []string{fmt.Sprint("a", i%4)}))
	}
	var all []*Tool
	for i := range tools {
		all = append(all, &tools[i])
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
		check.OK(t, err)
		after := check.Value(New("2", append(grants(rng.IntN(3)), kept...)))(t)
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
				e.count(before.Scope(caller, action).Allows, after.Scope(caller, action).Allows, all)
				if e.Loses.Tools+e.Gains.Tools > 0 {
					want = append(want, e)
				}
			}
		}
		got, unshown, err := effects(t.Context(), before, after, slices.Values(tools))
		if check.OK(t, err); unshown != 0 || !reflect.DeepEqual(got, want) {
			t.Fatalf("from %v to %v: %+v, want %+v", before.Grants, after.Grants, got, want)
		}
		seen += len(want)
	}
	if seen < 100 {
		t.Errorf("%d effects were seen", seen)
	}
}

// The effects of a change are shown for a hundred subjects and groups, and for the roles. They end
// with their request.
func TestEffectsHaveABound(t *testing.T) {
	var tools []Tool
	var grants []Grant
	for i := range 3 * maxWho {
		id := fmt.Sprintf("t%03d", i)
		tools = append(tools, ToolOf(schema.Ref{Kind: schema.KindTool, ID: id}, "p", "", nil))
		grants = append(grants, Grant{Effect: Allow, Action: Find, On: "tool:" + id, To: "subject:" + id})
	}
	none, all := &Policy{}, check.Value(New("1", grants))(t)
	shown, unshown, err := effects(t.Context(), none, all, slices.Values(tools))
	who := map[string]bool{}
	for _, e := range shown {
		who[e.Who] = true
	}
	if err != nil || unshown != 2*maxWho || len(who) != maxWho+6 || !who["*"] || !who["role:admin"] || !who["subject:t000"] {
		t.Errorf("%d are shown, %d are not: %v", len(who), unshown, err)
	}
	one := check.Value(New("2", grants[1:]))(t)
	if shown, unshown, err := effects(t.Context(), all, one, slices.Values(tools)); err != nil || unshown != 0 || len(shown) != 1 || shown[0].Who != "subject:t000" || shown[0].Loses.Tools != 1 {
		t.Errorf("of one grant: %+v, %d are not shown: %v", shown, unshown, err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if _, _, err := effects(over, none, all, slices.Values(tools)); !errors.Is(err, context.Canceled) {
		t.Errorf("after its request: %v", err)
	}
}

// The cost of a change of one grant follows from the grant, and not from the number of other grants.
func TestEffectsFollowFromTheDifference(t *testing.T) {
	var tools []Tool
	for i := range 2000 {
		tools = append(tools, ToolOf(schema.Ref{Kind: schema.KindTool, ID: fmt.Sprintf("t%04d", i)}, fmt.Sprint("p", i%20), "", nil))
	}
	for _, n := range []int{100, 2000} {
		var grants []Grant
		for i := range n {
			grants = append(grants, Grant{Effect: Allow, Action: Find, On: fmt.Sprintf("tool:t%04d", i), To: fmt.Sprint("subject:s", i)})
		}
		c := newComparison(check.Value(New("1", grants))(t), check.Value(New("2", grants[1:]))(t), slices.Values(tools))
		who, general := c.named()
		touched := 0
		for _, one := range who {
			touched += len(c.touched(identity.Caller{Role: identity.Reader}, one, Find))
		}
		if len(who) != 1 || general || touched != 1 {
			t.Errorf("of %d grants: %v, in general %v, and %d tools", n, who, general, touched)
		}
	}
}

func BenchmarkEffects(b *testing.B) {
	var tools []Tool
	for i := range 17_578 {
		tools = append(tools, ToolOf(schema.Ref{Kind: schema.KindTool, ID: fmt.Sprintf("t%05d", i)}, fmt.Sprint("p", i%300), "", []string{fmt.Sprint("a", i%50)}))
	}
	for _, n := range []int{100, 1000, 10_000} {
		var grants []Grant
		for i := range n {
			grants = append(grants, Grant{Effect: Allow, Action: Call, On: fmt.Sprintf("tool:t%05d", i), To: fmt.Sprint("subject:s", i)})
		}
		all := check.Value(New("1", grants))(b)
		for what, before := range map[string]*Policy{"all": {}, "one": check.Value(New("2", grants[1:]))(b)} {
			b.Run(fmt.Sprint(what, " of ", n), func(b *testing.B) {
				for b.Loop() {
					if _, _, err := effects(b.Context(), before, all, slices.Values(tools)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
