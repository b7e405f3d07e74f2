package adaptertest

import (
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// testScopes compares searches in the scope of random grants with a ranking of all
// tools after removing the tools outside the scope.
func testScopes(t *indexTest) {
	changes := t.granted(600)
	t.apply(changes...)
	for n := range 60 {
		scope := t.randomScope(changes)
		l := index.Lookup{Probe: t.probe("weather"), N: 1000, Kinds: []schema.Kind{schema.KindTool, schema.KindProvider}}
		want := []string{}
		for _, c := range t.candidates(l) {
			if allows(scope, changes, c.Ref) && len(want) < 10 {
				want = append(want, c.ID)
			}
		}
		l.N, l.Scope = 10, scope
		if got := ids(t.candidates(l)); !slices.Equal(got, want) {
			t.Fatalf("policy %d (%+v): found %v, want %v", n, scope, got, want)
		}
		if n%20 == 0 { // changes between searches of a scope
			changed := t.granted(7)
			copy(changes, changed)
			t.apply(changed...)
		}
	}
	t.catalogueInScope(changes)
}

// testCalls compares searches among callable tools with a ranking of all tools, and the withheld
// tools with all others in the scope.
func testCalls(t *indexTest) {
	newest := map[schema.Ref]events.Change{}
	changes := t.granted(600)
	for i := range changes {
		c := &changes[i]
		c.Document.Quarantined = i%9 == 0
		c.Endpoint, c.Format, c.Raw = fmt.Sprint(i%2), "mcp", fmt.Appendf(nil, `{"annotations":{"readOnlyHint":%v}}`, i%4 == 0)
		newest[c.Ref] = *c
	}
	t.apply(changes...)
	for n := range 40 {
		scope, called := t.randomScope(changes), fmt.Sprint(t.rng.IntN(2))
		calls := &index.Callable{
			Of: func(o index.Origin) bool {
				return o.Provider != "a" && (o.Hints.Destructive || o.From != "crawl") && o.Endpoint != called
			},
			Call: t.randomScope(changes), Destroy: t.randomScope(changes),
		}
		open, owners := map[schema.Ref]bool{}, map[string]bool{}
		for ref, c := range newest {
			origin, by := index.OriginOf(&schema.Entity{Provider: c.Provider, From: c.From, Endpoint: c.Endpoint, Format: c.Format}, c.Raw), calls.Call
			if origin.Hints.Destructive {
				by = calls.Destroy
			}
			open[ref] = c.Kind == schema.KindTool && !c.Document.Quarantined && calls.Of(origin) && allows(by, changes, ref)
			owners[c.Provider] = owners[c.Provider] || open[ref]
		}
		var want, left []string
		l := index.Lookup{Probe: t.probe("weather"), N: 1000, Scope: scope, Kinds: []schema.Kind{schema.KindTool, schema.KindProvider}}
		for _, c := range t.candidates(l) {
			if open[c.Ref] || c.Kind == schema.KindProvider && owners[c.ID] {
				want = append(want, c.ID)
			}
		}
		l.Calls, l.Withheld = calls, true
		for ref := range newest {
			if !slices.Contains(want, ref.ID) && allows(scope, changes, ref) {
				left = append(left, ref.ID)
			}
		}
		got := ids(t.candidates(l))
		slices.Sort(got)
		if slices.Sort(left); !slices.Equal(got, left) {
			t.Fatalf("search %d: %d are left out, want %d", n, len(got), len(left))
		}
		l.N, l.Withheld = 10, false
		if got, want = ids(t.candidates(l)), want[:min(10, len(want))]; !slices.Equal(got, want) {
			t.Fatalf("search %d: found %v, want %v", n, got, want)
		}
	}
}

// granted returns n tools and providers that grants can tell apart.
func (g *generator) granted(n int) []events.Change {
	changes := make([]events.Change, n)
	for i := range changes {
		c := g.tool(fmt.Sprintf("t%03d", i), "weather", fmt.Sprint("word", i%7))
		c.Provider = []string{"", "a", "a/b", "a/b/c", "ab", "b"}[g.rng.IntN(6)]
		c.From = []string{"", "crawl", "crawl/x", "crawler"}[g.rng.IntN(4)]
		c.Document.Tags = []string{fmt.Sprint("tag", g.rng.IntN(4)), fmt.Sprint("tag", g.rng.IntN(4))}
		if i%50 == 49 {
			c.Kind, c.ID, c.Provider = schema.KindProvider, []string{"a", "a/b", "b"}[i/50%3], ""
		}
		changes[i] = c
	}
	return changes
}

// randomScope returns the scope of a few grants, sometimes of a single tool.
func (t *indexTest) randomScope(changes []events.Change) *policy.Scope {
	grants := make([]policy.Grant, 1+t.rng.IntN(6))
	for i := range grants {
		on := []string{
			"*", "provider:a", "provider:a/b", "provider:b", "provider:none", "source:crawl", "source:crawl/x", "tag:tag1", "tag:tag2",
			"tool:" + changes[t.rng.IntN(len(changes))].ID, "tool:" + changes[t.rng.IntN(len(changes))].ID,
		}
		grants[i] = policy.Grant{Effect: policy.Allow, Action: policy.Find, On: on[t.rng.IntN(len(on))], To: "*"}
		if i > 0 && t.rng.IntN(3) == 0 {
			grants[i].Effect = policy.Deny
		}
	}
	return t.scope(grants...)
}

// scope returns the scope of a reader by some grants.
func (t *indexTest) scope(grants ...policy.Grant) *policy.Scope {
	t.Helper()
	p, err := policy.New("1", grants)
	if err != nil {
		t.Fatal(err)
	}
	return p.Scope(identity.Caller{Role: identity.Reader}, policy.Find)
}

// allows reports whether a scope allows the newest change of an entity.
func allows(scope *policy.Scope, changes []events.Change, ref schema.Ref) bool {
	allowed := false
	for _, c := range changes {
		if c.Ref == ref {
			of := policy.ToolOf(c.Ref, c.Provider, c.From, c.Document.Tags)
			allowed = scope.Allows(&of)
		}
	}
	return allowed
}

// catalogueInScope checks that a hidden tool looks like a tool that does not exist.
func (t *indexTest) catalogueInScope(changes []events.Change) {
	scope := t.randomScope(changes)
	for _, c := range changes {
		_, _, there, err := t.index.Get(t.ctx, c.Ref, scope)
		if err != nil || there != allows(scope, changes, c.Ref) {
			t.Fatalf("get %s: there %v, %v", c.ID, there, err)
		}
	}
	page, _, err := t.index.List(t.ctx, testTenant, index.Listing{Kind: schema.KindTool, Scope: scope, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var listed, want []schema.Ref
	for _, e := range page {
		listed = append(listed, e.Ref)
	}
	for _, c := range changes {
		if c.Kind == schema.KindTool && allows(scope, changes, c.Ref) {
			want = append(want, c.Ref)
		}
	}
	if !slices.Equal(listed, want) {
		t.Fatalf("listed %d, want %d", len(listed), len(want))
	}
}
