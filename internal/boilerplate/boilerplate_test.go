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

func TestWithout(t *testing.T) {
	rest, gone := Without("Books a room. By using it, you agree to our TERMS. It is held.", provenance.FoldedSet([]string{terms}))
	if rest != "Books a room. It is held." || !slices.Equal(gone, []string{"By using it, you agree to our TERMS."}) {
		t.Errorf("%q, %q", rest, gone)
	}
	if rest, gone := Without("Books  a room", provenance.FoldedSet([]string{terms})); rest != "Books  a room" || gone != nil {
		t.Errorf("%q, %q", rest, gone)
	}
}
