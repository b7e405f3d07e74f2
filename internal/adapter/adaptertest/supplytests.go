package adaptertest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// testAlsoAlone asks for no candidates but those of Also.
func testAlsoAlone(t *indexTest) {
	var changes []events.Change
	for i := range 300 {
		changes = append(changes, t.tool(fmt.Sprintf("t%03d", i), "weather"))
	}
	agent := t.tool("t007", "weather")
	agent.Kind, agent.Agent = schema.KindAgent, ""
	t.apply(append(changes, agent)...)
	m, p := model(), t.probe("weather")
	lookup := func(also []string, filters schema.Filters, kinds ...schema.Kind) []index.Candidate {
		t.Helper()
		found, err := t.index.Candidates(t.ctx, index.Lookup{Tenant: testTenant, Probe: p, Model: m, Also: also, Filters: filters, Kinds: kinds})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := lookup(nil, schema.Filters{}); len(found) != 0 {
		t.Errorf("%v of nothing", ids(found))
	}
	also := []string{"t250", "t007", "no such", "t250", "t100"}
	found := lookup(also, schema.Filters{})
	t.wantOrdered(found, &m)
	all := map[schema.Ref]index.Candidate{}
	for _, c := range t.candidates(index.Lookup{Probe: p, N: 400}) {
		all[c.Ref] = c
	}
	for _, c := range found {
		if c.Kind != schema.KindTool || !sameCandidate(c, all[c.Ref]) {
			t.Errorf("alone it is %+v, among all %+v", c, all[c.Ref])
		}
	}
	got := ids(found)
	if slices.Sort(got); !slices.Equal(got, []string{"t007", "t100", "t250"}) {
		t.Errorf("found %v", got)
	}
	if got := ids(lookup(also, schema.Filters{IDs: []string{"t100", "t101"}})); !slices.Equal(got, []string{"t100"}) {
		t.Errorf("a filter lets %v in", got)
	}
	if got := ids(lookup(also, schema.Filters{}, schema.KindAgent)); len(got) != 0 {
		t.Errorf("%v are no agents", got)
	}
}

// answering returns a tool that takes nothing and answers with a text.
func (t *indexTest) answering(id, response string) events.Change {
	c := t.tool(id, "unrelated")
	c.Document.Response, c.Document.Parameters = response, nil
	c.Vectors = t.vectors(c.Document)
	return c
}

// taking returns a tool that requires parameters and answers with nothing.
func (t *indexTest) taking(id string, names ...string) events.Change {
	c := t.answering(id, "")
	for _, name := range names {
		c.Document.Parameters = append(c.Document.Parameters, schema.Parameter{Name: name, Required: true})
	}
	c.Vectors = t.vectors(c.Document)
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
	if got := t.suppliers(testTenant, "nobody", "nothing"); !slices.Equal(got, []string{"", ""}) {
		t.Fatalf("an empty index has %q", got)
	}
	optional := t.taking("optional", "token")
	optional.Document.Parameters[0].Required = false
	agent, elsewhere := t.answering("agent", "a token"), t.answering("elsewhere", "a token")
	agent.Kind, agent.Agent, elsewhere.Tenant = schema.KindAgent, "", "other"
	itself := t.taking("itself", "token")
	itself.Document.Response = "the token again"
	changes := []events.Change{
		t.answering("login", "a token, and the session id"), t.answering("describe", "what a token is"),
		t.answering("open", "the id of a session"), t.answering("many 9", "page"), optional, agent, elsewhere, itself,
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
		for _, tool := range []string{"optional", "none", "login", "agent", "no such"} {
			t.wantSuppliers(tool, "")
		}
		if got := t.suppliers("nobody", "one"); got[0] != "" {
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
}

// testTellingNames takes parameters whose names say nothing, or are no names.
func testTellingNames(t *indexTest) {
	long := strings.Repeat("n", 10_000)
	t.apply(t.answering("all", "x id to is the 令牌 牌 Straße token "+long+" p0 p40"))
	for i, c := range []struct{ name, want string }{
		{"token", "all 1"}, {"令牌", "all 1"}, {"straße", "all 1"}, {"TOKEN[]", "all 1"},
		{"id", ""}, {"x", ""}, {"x_id", ""}, {"to", ""}, {"is_the", ""}, {"the_token", ""}, {"牌", ""},
		{"", ""}, {"$.[]", ""}, {long, ""}, {strings.Repeat("token_", 2000), ""},
	} {
		id := fmt.Sprint("taker", i)
		t.apply(t.taking(id, c.name))
		if got := t.suppliers(testTenant, id)[0]; got != c.want {
			t.Errorf("suppliers of %.30q: %q, want %q", c.name, got, c.want)
		}
	}
	names := slices.Repeat([]string{"unknown"}, index.MaxSupplied-1)
	t.apply(t.taking("within", append(names, "token")...), t.taking("beyond", append(names, "unknown", "token")...))
	t.wantSuppliers("within", "all 1")
	t.wantSuppliers("beyond", "")
}
