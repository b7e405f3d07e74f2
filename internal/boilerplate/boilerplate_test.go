package boilerplate

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/provenance"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

const terms = "By using it you agree to our terms."

func record(tenant, provider, name, description string) *events.Change {
	raw, err := json.Marshal(map[string]any{
		"name": name, "description": description + " " + terms,
		"inputSchema": map[string]any{"properties": map[string]any{"page": map[string]any{"description": "The number of the page."}}},
	})
	if err != nil {
		panic(err)
	}
	return &events.Change{Ref: schema.Ref{Tenant: tenant, Kind: schema.KindTool, ID: provider + "/" + name}, Provider: provider, Raw: raw}
}

func TestWhatStandsInAHundredToolsIsBoilerplate(t *testing.T) {
	c := New()
	add := func(r *events.Change) []string { return c.Add(ToolOf(r, Sentences(r.Raw))) }
	var keys []string
	for i := range least - 1 {
		r := record("one", "p", fmt.Sprint("tool", i), fmt.Sprintf("Does number %d of all things.", i))
		keys = append(keys, events.Key(r.Ref))
		if got := add(r); len(got) > 0 {
			t.Fatalf("%d tools: %q", i+1, got)
		}
	}
	again, elsewhere := record("one", "p", "tool0", "Does it in another way."), record("two", "p", "other", "Does it.")
	copied := record("one", "q", "tool0", "Does number 0 of all things.")
	keys = append(keys, events.Key(copied.Ref))
	for what, r := range map[string]*events.Change{"the same tool": again, "another tenant": elsewhere, "a copy": copied} {
		if got := add(r); len(got) > 0 || c.Of(r.Tenant, Sentences(r.Raw)) != nil {
			t.Errorf("%s: %q, %q", what, got, c.Of(r.Tenant, Sentences(r.Raw)))
		}
	}
	last := record("one", "r", "last", "Does something else.")
	keys = append(keys, events.Key(last.Ref))
	slices.Sort(keys)
	if got := add(last); !slices.Equal(got, keys) {
		t.Errorf("the last one: %q, want %q", got, keys)
	}
	for _, r := range []*events.Change{last, again, copied} {
		if got := c.Of("one", Sentences(r.Raw)); !slices.Equal(got, []string{terms}) {
			t.Errorf("%s: %q", r.ID, got)
		}
	}
	if got := c.Of("two", Sentences(elsewhere.Raw)); got != nil {
		t.Errorf("another tenant: %q", got)
	}
	if got := add(last); !slices.Equal(got, []string{events.Key(last.Ref)}) {
		t.Errorf("a record that does not say so: %q", got)
	}
	if last.Boilerplate = []string{terms}; len(add(last)) > 0 {
		t.Errorf("a record that says so")
	}
}

// A tenant that always says something new costs no more memory for it.
func TestATenantHasOnlySoManySentences(t *testing.T) {
	c := New()
	c.most = 2000
	for i := range 3 * least {
		var said []string
		for j := range 100 {
			said = append(said, fmt.Sprintf("It says %d and %d this time.", i, j))
		}
		c.Add(Tool{Tenant: "one", Key: "k", Name: "always the same", Sentences: said})
		c.Add(Tool{Tenant: "two", Key: fmt.Sprint(i), Name: fmt.Sprint(i), Sentences: []string{terms}})
		c.Add(Tool{Tenant: "one", Key: fmt.Sprint(i), Name: fmt.Sprint(i), Sentences: []string{terms}})
	}
	size := 0
	for _, u := range c.tenants["one"].uses {
		size += u.size()
	}
	if size > c.most || size != c.tenants["one"].size {
		t.Errorf("the size is %d, %d counted", size, c.tenants["one"].size)
	}
	for _, tenant := range []string{"one", "two"} {
		if got := c.Of(tenant, []string{terms, "It says 0 and 0 this time."}); !slices.Equal(got, []string{terms}) {
			t.Errorf("%s: %q", tenant, got)
		}
	}
	for i := range 30 { // boilerplate goes, too
		var said []string
		for j := range 100 {
			said = append(said, fmt.Sprintf("All of them say %d and %d.", i, j))
		}
		for j := range least {
			c.Add(Tool{Tenant: "one", Key: fmt.Sprint(j), Name: fmt.Sprint(j), Sentences: said})
		}
	}
	if size := c.tenants["one"].size; size > c.most {
		t.Errorf("the size is %d", size)
	}
}

func TestWithout(t *testing.T) {
	rest, gone := Without("Books a room. By using it, you agree to our TERMS. It is held.", provenance.FoldedSet([]string{terms}))
	if rest != "Books a room. It is held." || !slices.Equal(gone, []string{"By using it, you agree to our TERMS."}) {
		t.Errorf("%q, %q", rest, gone)
	}
	if rest, gone := Without("Books  a room", provenance.FoldedSet([]string{terms})); rest != "Books  a room" || gone != nil {
		t.Errorf("%q, %q", rest, gone)
	}
}
