package adaptertest

import (
	"context"
	"slices"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/pkg/schema"
)

// described returns the ids of the tools of a scope that are described in these words.
func (t *indexTest) described(scope *policy.Scope, words string, filters schema.Filters, n int) []string {
	t.Helper()
	found, err := t.index.Described(t.ctx, testTenant, words, scope, filters, n)
	if err != nil {
		t.Fatalf("described: %v", err)
	}
	out := []string{}
	for _, e := range found {
		out = append(out, e.ID)
	}
	return out
}

func wantDescribed(t *indexTest, what string, got []string, want ...string) {
	t.Helper()
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// testDescribed looks for tools by the words of their descriptions.
func testDescribed(t *indexTest) {
	if got := t.described(nil, "weather", schema.Filters{}, 5); len(got) != 0 {
		t.Fatalf("an empty index describes %q", got)
	}
	exact, loose, unlike := t.tool("exact", "weather", "forecast"), t.tool("loose", "weather", "of", "many", "other", "matters"), t.tool("unlike", "bread")
	unlike.Document.Response = "weather forecast" // in another field
	loose.Provider, loose.Document.Tags = "someone", []string{"rare"}
	provider, elsewhere := t.tool("provider", "weather", "forecast"), t.tool("elsewhere", "weather", "forecast")
	provider.Kind, provider.Provider, elsewhere.Tenant = schema.KindProvider, "", "other"
	t.apply(exact, loose, unlike, provider, elsewhere)
	tagged := t.scope(policy.Grant{Effect: policy.Allow, Action: policy.Find, On: "tag:rare", To: "*"})
	for range 2 {
		if got := t.described(nil, "forecast of the weather", schema.Filters{}, 5); !slices.Equal(got, []string{"exact", "loose"}) {
			t.Errorf("best first: %q", got)
		}
		wantDescribed(t, "one", t.described(nil, "weather forecast", schema.Filters{}, 1), "exact")
		wantDescribed(t, "none", t.described(nil, "weather", schema.Filters{}, 0))
		wantDescribed(t, "by owner", t.described(nil, "weather", schema.Filters{Providers: []string{"someone"}}, 5), "loose")
		wantDescribed(t, "by tag", t.described(nil, "weather", schema.Filters{Tags: []string{"rare"}}, 5), "loose")
		wantDescribed(t, "by id", t.described(nil, "weather", schema.Filters{IDs: []string{"exact", "provider"}}, 5), "exact")
		wantDescribed(t, "providers", t.described(nil, "weather", schema.Filters{Kinds: []schema.Kind{schema.KindProvider}}, 5))
		wantDescribed(t, "in a scope", t.described(tagged, "weather", schema.Filters{}, 5), "loose")
		wantDescribed(t, "no word", t.described(nil, "", schema.Filters{}, 5))
		t.reopen()
	}
	found, err := t.index.Described(t.ctx, testTenant, "bread", nil, schema.Filters{}, 5)
	if err != nil || len(found) != 1 || found[0].Ref != unlike.Ref || found[0].Document.Response != "weather forecast" || len(found[0].Document.Parameters) != 2 {
		t.Errorf("the whole tool is %+v, %v", found, err)
	}
	if found, err := t.index.Described(t.ctx, "unknown", "weather", nil, schema.Filters{}, 5); err != nil || len(found) != 0 {
		t.Errorf("an unknown tenant describes %v, %v", found, err)
	}
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	if _, err := t.index.Described(ctx, testTenant, "weather", nil, schema.Filters{}, 5); err == nil {
		t.Error("a cancelled call does not fail")
	}
}
