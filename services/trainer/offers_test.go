package trainer

import (
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

// A use of an offer that was named beside its copy counts for that offer, in the place of
// the copy. Whatever comes first.
func TestAUseOfAnotherOfferCountsForIt(t *testing.T) {
	for name, order := range map[string][]string{"of the offer alone": {"other"}, "after the tool shown": {"a", "other"}, "before it": {"other", "a"}} {
		b := newBench(t, Config{})
		i := b.impression("s", "a", "b")
		i.Shown[0].Also = []schema.Offer{{ID: "never used", Provider: "p"}, {ID: "other", Provider: "q"}}
		b.must(b.show(i))
		for _, id := range order {
			b.must(b.report(b.feedback("s", id, schema.Called)))
		}
		b.advance()
		uses := b.store.usage(t, "default").Prior
		if len(uses) != len(order) || uses["other"] == 0 {
			t.Errorf("%s: usage %v", name, uses)
		}
		rec := check.Value(b.Service.state.memory.search("default", "s"))(t)
		seen := rec.seen()
		at := map[string]int{"of the offer alone": 0}[name]
		if len(order) > 1 {
			at = 2
		}
		if s := seen.Shown[at]; s.ID != "other" || s.Provider != "q" || len(seen.Shown) != 1+len(order) {
			t.Errorf("%s: seen %+v", name, seen.Shown)
		}
	}
}
