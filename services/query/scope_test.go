package query

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Every lookup of a search is in the scope of the caller, so that the index chooses among
// what the caller may find; and without grants that can be read there is no search.
func TestASearchIsInTheScopeOfItsCaller(t *testing.T) {
	b := newBench(t, shops()...)
	r := &fakeRewriter{answer: sampleRewrite()}
	b.rewrites(t, Config{}, r)
	path := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("default:\n  - {effect: allow, action: find, on: 'tag:none', to: 'subject:anna'}\n")
	store, err := policy.OpenFile(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	b.deps.Policy = store
	caller := identity.Caller{Tenant: testTenant, Subject: "anna", Role: identity.Reader}
	for _, rank := range []schema.Rank{schema.RankTools, schema.RankProviders, schema.RankAuto} {
		if _, err := b.Search(t.Context(), caller, schema.SearchRequest{Query: "shop", Rank: rank}); err != nil {
			t.Errorf("%s: %v", rank, err)
		}
	}
	for _, l := range b.index.lookups {
		if l.Scope == nil || !slices.Equal(l.Scope.Allow.Names(), []string{"tag:none"}) {
			t.Errorf("a lookup in the scope %+v", l.Scope)
		}
	}
	for _, q := range r.asked {
		if q.Scope == nil || !slices.Equal(q.Scope.Allow.Names(), []string{"tag:none"}) {
			t.Errorf("a query rewritten in the scope %+v", q.Scope)
		}
	}
	if len(b.index.lookups) < 3 || len(r.asked) < 3 {
		t.Errorf("%d lookups", len(b.index.lookups))
	}
	write("default: no list")
	if _, err := b.Search(t.Context(), caller, schema.SearchRequest{Query: "shop"}); Status(err) != http.StatusServiceUnavailable {
		t.Errorf("without grants: %v", err)
	}
}

// The registry shows a source where its provider may be found: by the source, and by what the
// provider's own document says.
func TestAProviderIsVisibleByItsDocumentAndItsSource(t *testing.T) {
	inner := provider("inner", 1)
	b := newBench(t, inner)
	b.catalogue.entities[inner.Ref] = schema.Entity{Ref: inner.Ref, Document: schema.Document{Tags: []string{"internal"}}}
	path := filepath.Join(t.TempDir(), "policy.yaml")
	text := "default:\n" +
		"  - {effect: allow, action: find, on: '*', to: '*'}\n" +
		"  - {effect: deny, action: find, on: 'tag:internal', to: 'group:guests'}\n" +
		"  - {effect: deny, action: find, on: 'source:closed', to: 'group:guests'}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.deps.Policy, err = policy.OpenFile(path, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	guest := identity.Caller{Tenant: testTenant, Groups: []string{"guests"}, Role: identity.Reader}
	other := identity.Caller{Tenant: testTenant, Role: identity.Reader}
	for _, c := range []struct {
		caller           identity.Caller
		provider, source string
		want             bool
	}{
		{other, "inner", "inner", true},
		{guest, "inner", "inner", false},
		{guest, "unsaid", "closed", false},
		{guest, "unsaid", "open", true},
	} {
		if _, got, err := b.Provider(identity.With(t.Context(), c.caller), c.provider, c.source); err != nil || got != c.want {
			t.Errorf("%s of %s to %v: %v, %v", c.provider, c.source, c.caller.Groups, got, err)
		}
	}
}
