package query

import (
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/search"
)

// Every lookup of a search is in the scope of the caller, so that the index chooses among
// what the caller may find; and without grants that can be read there is no search.
func TestASearchIsInTheScopeOfItsCaller(t *testing.T) {
	b := newBench(t, shops()...)
	r := &fakeRewriter{answer: sampleRewrite()}
	b.rewrites(t, Config{}, r)
	file := b.grants(t, "{effect: allow, action: find, on: 'tag:none', to: 'subject:anna'}")
	b.build(t, Config{})
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
	check.OK(t, os.WriteFile(file, []byte("default: no list"), 0o600))
	if _, err := b.Search(t.Context(), caller, schema.SearchRequest{Query: "shop"}); search.Status(err) != http.StatusServiceUnavailable {
		t.Errorf("without grants: %v", err)
	}
}

// The registry shows a source where its provider may be found: by the source, and by what the
// provider's own document says.
func TestAProviderIsVisibleByItsDocumentAndItsSource(t *testing.T) {
	inner := provider("inner", 1)
	b := newBench(t, inner)
	b.catalogue.entities[inner.Ref] = schema.Entity{Ref: inner.Ref, Document: schema.Document{Tags: []string{"internal"}}}
	b.grants(t, "{effect: allow, action: find, on: '*', to: '*'}", "{effect: deny, action: find, on: 'tag:internal', to: 'group:guests'}",
		"{effect: deny, action: find, on: 'source:closed', to: 'group:guests'}")
	b.build(t, Config{})
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
