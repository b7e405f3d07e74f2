package ingest

import (
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

func TestOwnedAreTheToolsOfAProviderAndOfThoseBelowIt(t *testing.T) {
	_, s := newService(t)
	accept(t, s, owned(doc("a", "x"), "shop"), owned(doc("b", "x"), "shop/one"), owned(doc("c", "x"), "shopping"), doc("d", "x"), owned(doc("e", "x"), "shop"))
	accept(t, s, gone("e"))
	ids, err := s.Owned(t.Context(), home, "shop")
	if err != nil || !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("%q, %v", ids, err)
	}
}

func TestRemoveSparesWhatIsNewer(t *testing.T) {
	_, s := newService(t)
	accept(t, s, owned(doc("a", "x"), "shop"))
	revision := check.Value(s.Revision(t.Context()))(t)
	accept(t, s, owned(doc("b", "x"), "shop"))
	if removed, err := s.Remove(t.Context(), home, []string{"a", "b"}, Options{UpTo: revision}); err != nil || len(removed) != 1 || removed[0].ID != "a" {
		t.Errorf("%+v, %v", removed, err)
	}
}

// Only a source changes a tool that it listed. The same document may be sent again, and a delete, a
// hold and a release are for all who may make them.
func TestWhatASourceListedIsChangedThereAlone(t *testing.T) {
	bus, s := newService(t)
	listed := func(item formats.Item) {
		t.Helper()
		if out := check.Value(s.Accept(t.Context(), home, []formats.Item{item}, Options{Source: "shop"}))(t); out[0].State != Accepted {
			t.Fatalf("listed: %+v", out[0])
		}
	}
	about := doc("shop", "about")
	about.Kind = schema.KindProvider
	listed(owned(doc("a", "one"), "shop"))
	listed(about)
	about.Hash = "another"
	other, format := owned(doc("a", "one"), "shop"), owned(doc("a", "one"), "shop")
	other.Raw, other.Hash, format.Format = []byte(`{"name":"b"}`), "b", "openapi"
	for _, tc := range []struct {
		what  string
		item  formats.Item
		opts  Options
		state State
		from  string
	}{
		{"the same document", owned(doc("a", "one"), "shop"), Options{}, Unchanged, "shop"},
		{"the same with a version", versioned(doc("a", "one"), 3), Options{}, Accepted, "shop"},
		{"another", other, Options{}, Rejected, "shop"},
		{"another with a newer version", versioned(other, 9), Options{}, Rejected, "shop"},
		{"another without a provider", owned(other, ""), Options{}, Rejected, "shop"},
		{"the same in another format", format, Options{}, Rejected, "shop"},
		{"another that takes over", other, Options{TakeOver: true}, Accepted, ""},
		{"and one after it", doc("a", "two"), Options{}, Accepted, ""},
		{"the list again", owned(doc("a", "one"), "shop"), Options{Source: "shop"}, Accepted, "shop"},
		{"about the provider", about, Options{}, Accepted, "shop"},
	} {
		out := check.Value(s.Accept(t.Context(), home, []formats.Item{tc.item}, tc.opts))(t)[0]
		if c := newest(t, bus, tc.item.ID); out.State != tc.state || c.From != tc.from {
			t.Errorf("%s: %s (%s), from %q, want %s, %q", tc.what, out.State, out.Detail, c.From, tc.state, tc.from)
		}
		if refused := out.State == Rejected; refused != (out.Reason == ReasonOwned) {
			t.Errorf("%s: %s", tc.what, out.Reason)
		}
	}
	ref := ref("a")
	if o, err := s.Hold(t.Context(), ref); err != nil || o.State != Accepted || newest(t, bus, "a").From != "shop" {
		t.Errorf("held: %+v, %v, %+v", o, err, newest(t, bus, "a"))
	}
	if o, err := s.Release(t.Context(), ref, newest(t, bus, "a").Hash); err != nil || o.State != Accepted || newest(t, bus, "a").From != "shop" {
		t.Errorf("released: %+v, %v, %+v", o, err, newest(t, bus, "a"))
	}
	wantStates(t, s, "accepted", gone("a"))
	wantStates(t, s, "accepted", other)
	if c := newest(t, bus, "a"); c.From != "" {
		t.Errorf("what is sent after a delete is of %q", c.From)
	}
}
