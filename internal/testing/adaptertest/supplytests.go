package adaptertest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// answering returns a tool that takes nothing and answers with a text.
func (g *generator) answering(id, response string) events.Change {
	c := g.tool(id, "unrelated")
	c.Document.Response, c.Document.Parameters = response, nil
	c.Vectors = g.vectors(c.Document)
	return c
}

// taking returns a tool that requires parameters and answers with nothing.
func (g *generator) taking(id string, names ...string) events.Change {
	c := g.answering(id, "")
	for _, name := range names {
		c.Document.Parameters = append(c.Document.Parameters, schema.Parameter{Name: name, Required: true})
	}
	c.Vectors = g.vectors(c.Document)
	return c
}

// suppliers returns the suppliers of tools as "id share", in one line a tool.
func (t *indexTest) suppliers(tenant string, tools ...string) []string {
	t.Helper()
	lists, err := t.index.Suppliers(t.ctx, tenant, tools)
	if err != nil || len(lists) != len(tools) {
		t.Fatalf("suppliers of %d tools: %d lists, %v", len(tools), len(lists), err)
	}
	out := make([]string, len(lists))
	for i, list := range lists {
		var all []string
		for _, s := range list {
			all = append(all, fmt.Sprintf("%s %.3g", s.ID, s.Share))
		}
		out[i] = strings.Join(all, ", ")
	}
	return out
}

func (t *indexTest) wantSuppliers(tool, want string) {
	t.Helper()
	if got := t.suppliers(testTenant, tool)[0]; got != want {
		t.Errorf("suppliers of %s: %q, want %q", tool, got, want)
	}
}

func testSuppliers(t *indexTest) {
	if got := t.suppliers(testTenant, "unknown", "absent"); !slices.Equal(got, []string{"", ""}) {
		t.Fatalf("an empty index has %q", got)
	}
	optional := t.taking("optional", "token")
	optional.Document.Parameters[0].Required = false
	provider, elsewhere := t.answering("provider", "a token"), t.answering("elsewhere", "a token")
	provider.Kind, provider.Provider, elsewhere.Tenant = schema.KindProvider, "", "other"
	itself := t.taking("itself", "token")
	itself.Document.Response = "the token again"
	changes := []events.Change{
		t.answering("login", "a token, and the session id"), t.answering("describe", "what a token is"),
		t.answering("open", "the id of a session"), t.answering("many 9", "page"), optional, provider, elsewhere, itself,
		t.taking("one", "sessionId"), t.taking("two", "token", "session_id"), t.taking("page", "page"), t.taking("none", "unheard of"),
	}
	for i := range index.MaxSuppliers {
		changes = append(changes, t.answering(fmt.Sprint("many ", i), "page"))
	}
	t.apply(changes...)
	for range 2 {
		t.wantSuppliers("one", "login 0.25, open 0.25")
		t.wantSuppliers("two", "describe 0.111, itself 0.111, login 0.25, open 0.25")
		t.wantSuppliers("itself", "describe 0.25, login 0.25") // of others, and the better share of each
		t.wantSuppliers("page", "")                            // too many
		for _, tool := range []string{"optional", "none", "login", "provider", "no such"} {
			t.wantSuppliers(tool, "")
		}
		if got := t.suppliers("unknown", "one"); got[0] != "" {
			t.Errorf("an unknown tenant has %q", got)
		}
		if got := t.suppliers(testTenant, "one", "no such", "one"); got[0] != got[2] || got[1] != "" || got[0] == "" {
			t.Errorf("in one call: %q", got)
		}
		t.reopen()
	}
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	if _, err := t.index.Suppliers(ctx, testTenant, []string{"one"}); err == nil {
		t.Error("a cancelled call does not fail")
	}
}

func testSuppliersThroughChanges(t *indexTest) {
	taker := t.taking("taker", "token")
	t.apply(taker, t.answering("a", "a token"), t.answering("b", "a token"))
	t.wantSuppliers("taker", "a 0.25, b 0.25")
	t.apply(t.answering("b", "something else"))
	t.wantSuppliers("taker", "a 1")
	t.apply(t.remove("a"))
	t.wantSuppliers("taker", "")
	for i := range index.MaxSuppliers + 1 { // one by one, and one too many
		t.apply(t.answering(fmt.Sprint("c", i), "a token"))
	}
	t.wantSuppliers("taker", "")
	t.apply(t.remove("c0"))
	t.wantSuppliers("taker", "c1 0.04, c2 0.04, c3 0.04, c4 0.04, c5 0.04")
	t.apply(t.taking("taker", "other"))
	t.wantSuppliers("taker", "")
	t.apply(t.answering("late", "the other"))
	t.wantSuppliers("taker", "late 1")
	t.apply(t.remove("taker"))
	t.wantSuppliers("taker", "")
	names := slices.Repeat([]string{"unknown"}, index.MaxSupplied-1)
	t.apply(t.taking("within", append(names, "other")...), t.taking("beyond", append(names, "unknown", "other")...))
	t.wantSuppliers("within", "late 1")
	t.wantSuppliers("beyond", "")
}

// A tool that answers with a parameter counts no less for being copied.
func testSuppliersWithCopies(t *indexTest) {
	original := t.answering("login", "a token")
	changes := []events.Change{t.taking("taker", "token"), original}
	for i := range index.MaxSuppliers + 1 {
		c := t.answering(fmt.Sprint("login ", i), "a token")
		c.Provider = fmt.Sprint("copies ", i)
		c.Document.Description = original.Document.Description
		changes = append(changes, c)
	}
	t.apply(changes...)
	t.wantSuppliers("taker", "login 1")
}
