package ingest

import (
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/streamtest"
)

func TestOwnedAreTheToolsOfAProviderAndOfThoseBelowIt(t *testing.T) {
	s, _ := start(t, streamtest.NewBus(), Config{}, newWall().now)
	accept(t, s, owned(doc("a", "x"), "shop"), owned(doc("b", "x"), "shop/one"), owned(doc("c", "x"), "shopping"), doc("d", "x"), owned(doc("e", "x"), "shop"))
	accept(t, s, gone("e"))
	ids, err := s.Owned(t.Context(), home, "shop")
	if err != nil || !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("%q, %v", ids, err)
	}
}

func TestRemoveSparesWhatIsNewer(t *testing.T) {
	s, _ := start(t, streamtest.NewBus(), Config{}, newWall().now)
	accept(t, s, owned(doc("a", "x"), "shop"))
	revision, err := s.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	accept(t, s, owned(doc("b", "x"), "shop"))
	if removed, err := s.Remove(t.Context(), home, []string{"a", "b"}, Options{UpTo: revision}); err != nil || len(removed) != 1 || removed[0].ID != "a" {
		t.Errorf("%+v, %v", removed, err)
	}
}
