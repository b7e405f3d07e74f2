package adaptertest

import (
	"context"
	"slices"

	"github.com/toolstream/toolstream/internal/access/policy"
)

func (t *indexTest) wantNamed(scope *policy.Scope, name string, want ...string) {
	t.Helper()
	got, err := t.index.Named(t.ctx, testTenant, name, scope)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("called %q are %q, %v, want %q", name, got, err, want)
	}
}

// testNamed looks for tools by their callable names: through changes of the name, deletes,
// slots that are used again and a restart.
func testNamed(t *indexTest) {
	t.wantNamed(nil, "a_tool")
	a, same, rare, provider, elsewhere := t.tool("a", "first"), t.tool("b", "second"), t.tool("c", "third"), t.tool("p", "provider"), t.tool("a", "elsewhere")
	provider.Kind, provider.Provider = "provider", ""
	a.CallableName, same.CallableName, elsewhere.CallableName = "a_tool", "a_tool", "a_tool"
	rare.CallableName, rare.Document.Tags = "rare", []string{"rare"}
	rare.From, rare.Endpoint = "shop", "5ea9"
	elsewhere.Tenant = "other"
	t.apply(same, a, rare, provider, elsewhere)
	tagged := t.scope(policy.Grant{Effect: policy.Allow, Action: policy.Find, On: "tag:rare", To: "*"})
	for range 2 {
		t.wantNamed(nil, "a_tool", "a", "b")
		t.wantNamed(nil, "rare", "c")
		t.wantNamed(nil, "")
		t.wantNamed(nil, "A_tool")
		t.wantNamed(nil, "c")
		t.wantNamed(tagged, "a_tool")
		t.wantNamed(tagged, "rare", "c")
		t.reopen()
	}
	if e, _, _, err := t.index.Get(t.ctx, rare.Ref, nil); err != nil || e.CallableName != "rare" || e.From != "shop" || e.Endpoint != "5ea9" {
		t.Errorf("the tool is %+v, %v", e, err)
	}
	next := t.tool("a", "of another owner")
	next.Provider, next.CallableName = "someone", "someone_a"
	t.apply(t.remove("b"), next)
	t.apply(t.tool("d", "in the place of b"))
	for range 2 {
		t.wantNamed(nil, "a_tool")
		t.wantNamed(nil, "someone_a", "a")
		t.reopen()
	}
	if ids, err := t.index.Named(t.ctx, "unknown", "rare", nil); err != nil || len(ids) != 0 {
		t.Errorf("an unknown tenant has %q, %v", ids, err)
	}
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	if _, err := t.index.Named(ctx, testTenant, "rare", nil); err == nil {
		t.Error("a cancelled call does not fail")
	}
}
