package rerank

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// named returns the ids in an order.
func named(items []Item, order []Place) (ids []string) {
	for _, p := range order {
		ids = append(ids, items[p.At].ID)
	}
	return ids
}

// Beside the owner of the first tool, post clears 0.85 by its track. The unseen post
// brings post.label from the library, which stands among the clear ones by its score.
func TestSingleByHand(t *testing.T) {
	items := []Item{
		{ID: "bank.transfer", Owner: "bank", Score: 0.95, Seen: true},
		{ID: "maps.route", Owner: "maps", Score: 0.84},
		{ID: "post.track", Owner: "post", Score: 0.85},
		{ID: "clock", Score: 0.85, Seen: true},
		{ID: "bank.balance", Owner: "bank", Score: 0.70, Seen: true},
		{ID: "rail.times", Owner: "rail", Score: 0.30},
		{ID: "bank.limits", Owner: "bank", Score: 0.60, Seen: true},
		{ID: "post.label", Owner: "post", Score: 0.65},
	}
	c := DefaultConfig()
	if got := c.Unseen(items[:7]); !slices.Equal(got, []string{"post"}) {
		t.Errorf("unseen are %v", got)
	}
	order := c.Single(items, 7)
	want := []string{"bank.transfer", "post.track", "clock", "bank.balance", "post.label", "bank.limits", "maps.route", "rail.times"}
	if got := named(items, order); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if order[4].Why != Extended || order[0].Why != ClearOwner || order[6].Why != OtherOwner {
		t.Errorf("%v", order)
	}
}

// However little a reranker is sure of its best tool, that tool's owner comes first.
func TestTheFirstOwnerIsAlwaysClear(t *testing.T) {
	items := []Item{{ID: "a", Owner: "x", Score: 0.5}, {ID: "b", Owner: "y", Score: 0.4}, {ID: "c", Owner: "x", Score: 0.3}}
	if got := named(items, DefaultConfig().Single(items, 3)); !slices.Equal(got, []string{"a", "c", "b"}) {
		t.Errorf("%v", got)
	}
}

// bank's three tools are one component, and loan, of another owner, means the same as
// bank.credit: four in all, of which the best three stay in front. bank.audit is the
// fifth of them. The two of maps are below the bound.
func TestMultiByHand(t *testing.T) {
	items := []Item{
		{ID: "bank.transfer", Owner: "bank"},
		{ID: "loan", Vector: []float32{0.6, 0.8}},
		{ID: "bank.credit", Owner: "bank", Vector: []float32{0.8, 0.6}}, // a cosine of .96
		{ID: "bank.balance", Owner: "bank"},
		{ID: "maps.route", Owner: "maps", Vector: []float32{-0.6, 0.8}}, // of .28 at most
		{ID: "bank.audit", Owner: "bank"},
		{ID: "maps.places", Owner: "maps"},
	}
	want := []string{
		"bank.transfer", "loan", "bank.credit", "maps.route", "maps.places",
		"bank.balance", "bank.audit",
	}
	order := DefaultConfig().Multi(items)
	if got := named(items, order); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if order[0].Why != Front || order[6].Why != Beyond {
		t.Errorf("%v", order)
	}
}

func TestTruncate(t *testing.T) {
	c := Config{KeepSeen: 1, KeepUnseen: 3}
	for at, want := range []struct{ seen, unseen bool }{{true, true}, {false, true}, {false, true}, {false, false}} {
		if seen, unseen := c.Keeps(at, true), c.Keeps(at, false); seen != want.seen || unseen != want.unseen {
			t.Errorf("at %d: seen %v, unseen %v", at, seen, unseen)
		}
	}
}

// What is cut is neither brought forward nor put behind what is.
func TestWhatIsCutIsOnlyPassed(t *testing.T) {
	items := []Item{{ID: "a", Owner: "x", Score: 0.8}, {ID: "b", Owner: "y", Score: 0.7}, {ID: "c", Owner: "x", Score: 0.7, Cut: true}, {ID: "d", Owner: "z", Score: 0.7}, {ID: "e", Owner: "x", Score: 0.7}}
	c := DefaultConfig()
	if got := named(items, c.Single(items, 5)); !slices.Equal(got, []string{"a", "e", "b", "c", "d"}) {
		t.Errorf("single: %v", got)
	}
	c.PerComponent = 1
	if got := named(items, c.Multi(items)); !slices.Equal(got, []string{"a", "b", "c", "d", "e"}) {
		t.Errorf("multi: %v", got)
	}
}

func TestCalibrate(t *testing.T) {
	for score, want := range map[float64]float64{60: 0.885, 57: 0.85, 40: 0.5, -5: 0.01} {
		if got := Calibrate(score, 60); math.Abs(got-want) > 0.005 {
			t.Errorf("%v: %v, not %v", score, got, want)
		}
		if got := Calibrate(score/100, 0.6); math.Abs(got-want) > 0.005 {
			t.Errorf("%v: %v, not %v, on another scale", score, got, want)
		}
	}
	if got := Calibrate(-1, 0); got != 0 {
		t.Errorf("nothing is relevant: %v", got)
	}
}

// Every order holds each tool once, and hides none behind what scores clearly less.
func TestEveryOrderHoldsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		item := rapid.Custom(func(t *rapid.T) Item {
			return Item{
				ID:     rapid.SampledFrom([]string{"i", "j", "k"}).Draw(t, "id"),
				Owner:  rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "owner"),
				Score:  rapid.Float64Range(-1, 1).Draw(t, "score"),
				Seen:   rapid.Bool().Draw(t, "seen"),
				Cut:    rapid.Bool().Draw(t, "cut"),
				Vector: rapid.SampledFrom([][]float32{nil, {1, 0}, {0, 1}}).Draw(t, "vector"),
			}
		})
		items := rapid.SliceOfN(item, 0, 20).Draw(t, "items")
		extended := rapid.IntRange(0, len(items)).Draw(t, "extended")
		c := DefaultConfig()
		c.PerComponent = rapid.IntRange(0, 4).Draw(t, "n")
		for _, places := range [][]Place{c.Single(items, extended), c.Multi(items)} {
			var order []int
			for _, p := range places {
				order = append(order, p.At)
			}
			slices.Sort(order)
			for i, p := range places {
				for _, behind := range places[i:] {
					if items[p.At].Score < items[behind.At].Score-clearly {
						t.Fatalf("%v is before %v", items[p.At], items[behind.At])
					}
				}
			}
			for i := range items {
				if len(order) != len(items) || order[i] != i {
					t.Fatalf("%v of %d", order, len(items))
				}
			}
		}
	})
}
