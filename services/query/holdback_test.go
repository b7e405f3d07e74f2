package query

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

func TestHoldBackIsByTenant(t *testing.T) {
	known := []string{"loud", "long"}
	h, err := ParseHoldBack([]string{"loud", "acme=long", "free=off"}, known)
	if err != nil {
		t.Fatal(err)
	}
	got := [][]string{h.of("any"), h.of("acme"), h.of("free"), HoldBack(nil).of("any")}
	if want := [][]string{{"loud"}, {"long"}, {}, nil}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for member, problem := range map[string]string{"quiet": `no flag "quiet"`, "acme=quiet": `no flag "quiet"`, "=loud": `"=loud" is not TENANT=FLAG`} {
		if _, err := ParseHoldBack([]string{member}, known); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", member, err)
		}
	}
}

// holding is a bench with the tool of most words held back.
func holding(t *testing.T, held HoldBack) *bench {
	b := newBench(t, tool("loud", "", 9), tool("a", "", 3), tool("b", "", 2))
	b.index.flags = map[string][]string{"loud": {"loud"}}
	e := b.catalogue.entities[b.index.found[0].Ref]
	e.Document.Flags = []string{"loud"}
	b.catalogue.entities[e.Ref] = e
	b.model = "m"
	b.build(t, Config{HoldBack: held})
	return b
}

func TestWhatIsHeldBackStandsBehindAllOthers(t *testing.T) {
	b := holding(t, HoldBack{"": {"loud"}})
	got := b.search(t, schema.SearchRequest{K: 3, Explain: true})
	if !slices.Equal(ids(got), []string{"a", "b", "loud"}) {
		t.Fatalf("got %v", ids(got))
	}
	last := got.Results[2]
	if last.HeldBack != "loud" || last.Confidence != 0 || last.Explanation.Summary[0] != "held back behind all others: flagged loud" {
		t.Errorf("held back %q, %q", last.HeldBack, last.Explanation.Summary)
	}
	if got.Results[0].HeldBack != "" {
		t.Errorf("the first is held back for %q", got.Results[0].HeldBack)
	}
	if got := b.search(t, schema.SearchRequest{K: 2}); !slices.Equal(ids(got), []string{"a", "b"}) {
		t.Errorf("where there is no room, got %v", ids(got))
	}
	if got := b.search(t, schema.SearchRequest{Exclude: []string{"loud"}}); !slices.Equal(ids(got), []string{"a", "b"}) {
		t.Errorf("excluded, got %v", ids(got))
	}
	if got := ids(holding(t, HoldBack{"": {"loud"}, testTenant: {}}).search(t, schema.SearchRequest{})); got[0] != "loud" {
		t.Errorf("in a tenant that holds nothing back, got %v", got)
	}
}

// Agents who used a tool know what it is.
func TestWhatIsUsedIsNotHeldBack(t *testing.T) {
	b := holding(t, HoldBack{"": {"loud"}})
	b.start(t)
	b.watcher.put(t, "weights.live."+schema.ModelOwner(testTenant, b.model), sealed(t, 1, bySimilar))
	if got := ids(b.search(t, schema.SearchRequest{K: 2})); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("before it is used, got %v", got)
	}
	b.watcher.put(t, "usage.default", askedFor(map[string]schema.Direction{"loud": {127, 64}}))
	got := b.search(t, schema.SearchRequest{K: 2})
	if ids(got)[0] != "loud" || got.Results[0].HeldBack != "" {
		t.Errorf("got %v, held back for %q", ids(got), got.Results[0].HeldBack)
	}
}
