package trainer

import (
	"fmt"
	"testing"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// alike lets n ask something alike, and each use one of the tools that are shown, which
// their texts tell apart by little.
func (b *bench) alike(prefix string, n, axis, used int, shown func(i int) []string) {
	b.t.Helper()
	for i := range n {
		imp := b.impression(fmt.Sprint(prefix, i), shown(i)...)
		imp.Model, imp.Vector = "m", make(schema.Direction, 200)
		imp.Vector[0], imp.Vector[axis+i] = 114, 57 // cosine .8
		for rank := range imp.Shown {
			imp.Shown[rank].Features[fusion.QueryDenseDescription] = 0.3
			imp.Shown[rank].Features[fusion.QueryLexicalFlat] = 10 - 0.1*float64(rank)
		}
		b.must(b.show(imp))
		b.must(b.report(b.feedback(imp.SearchID, imp.Shown[used].ID, schema.Called)))
	}
	b.advance()
}

// Uses that make questions rank worse which were left out rank no more, over a restart
// too, until they do so no more.
func TestUseThatDoesHarmIsWithheld(t *testing.T) {
	cfg := Config{Retrain: 60}
	b := newBench(t, cfg)
	b.alike("s", 60, 1, 0, func(i int) []string { return []string{fmt.Sprint("tool", i), fmt.Sprint("tool", (i+1)%60), "other"} })
	if u := b.store.usage(t, "default"); !u.Withheld || len(u.Prior) != 60 {
		t.Fatalf("withheld: %v, %d tools were used", u.Withheld, len(u.Prior))
	}
	b.restart(cfg)
	regular := func(int) []string { return []string{"other", "regular"} }
	b.alike("t", 59, 70, 1, regular)
	if u := b.store.usage(t, "default"); !u.Withheld || u.Prior["regular"] == 0 {
		t.Error("not withheld any more, and nothing was learned anew")
	}
	b.alike("u", 61, 130, 1, regular)
	if u := b.store.usage(t, "default"); u.Withheld {
		t.Error("withheld although one tool is wanted again and again")
	}
}
