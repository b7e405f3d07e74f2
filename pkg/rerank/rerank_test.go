package rerank

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// named returns the ids in an order.
func named(items []Item, order []int) (ids []string) {
	for _, i := range order {
		ids = append(ids, items[i].ID)
	}
	return ids
}

// Two owners clear 0.85: bank by its transfer, post by its track. With four
// places for seen tools and six for unseen ones, bank.limits of the seen bank is
// cut and stays behind, while the unseen post brings post.label from beyond both.
func TestSingleByHand(t *testing.T) {
	items := []Item{
		{ID: "bank.transfer", Owner: "bank", Score: 0.95, Seen: true},
		{ID: "maps.route", Owner: "maps", Score: 0.80, Seen: true},
		{ID: "post.track", Owner: "post", Score: 0.85},
		{ID: "bank.balance", Owner: "bank", Score: 0.50, Seen: true},
		{ID: "bank.limits", Owner: "bank", Score: 0.40, Seen: true},
		{ID: "rail.times", Owner: "rail", Score: 0.30},
		{ID: "post.label", Owner: "post", Score: 0.20},
		{ID: "rail.seats", Owner: "rail", Score: 0.10},
	}
	c := DefaultConfig()
	c.KeepSeen, c.KeepUnseen = 4, 6
	want := []string{
		"bank.transfer", "post.track", "bank.balance", "post.label",
		"maps.route", "rail.times",
		"bank.limits", "rail.seats",
	}
	if got := named(items, c.Single(items)); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// bank's three tools are one component, and loan, of another owner, says the
// same as bank.credit: four in all, of which the best three stay in front.
// bank.audit is the fifth of them. The two of maps are below the bound.
func TestMultiByHand(t *testing.T) {
	credit := map[string]bool{"ask": true, "credit": true, "terms": true}
	items := []Item{
		{ID: "bank.transfer", Owner: "bank"},
		{ID: "loan", Words: credit},
		{ID: "bank.credit", Owner: "bank", Words: credit},
		{ID: "bank.balance", Owner: "bank"},
		{ID: "maps.route", Owner: "maps", Words: map[string]bool{"ask": true, "way": true, "street": true}},
		{ID: "bank.audit", Owner: "bank"},
		{ID: "maps.places", Owner: "maps"},
	}
	want := []string{
		"bank.transfer", "loan", "bank.credit", "maps.route", "maps.places",
		"bank.balance", "bank.audit",
	}
	if got := named(items, DefaultConfig().Multi(items)); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// Where no tool clears the bound, or none has an owner, nothing moves.
func TestNothingMoves(t *testing.T) {
	vague := []Item{{ID: "a", Owner: "x", Score: 0.5}, {ID: "b", Owner: "y", Score: 0.4}, {ID: "c", Owner: "x", Score: 0.3}}
	alone := []Item{{ID: "a", Score: 0.9}, {ID: "b", Score: 0.8}, {ID: "c", Score: 0.3}}
	c := DefaultConfig()
	c.PerComponent = 1
	for name, order := range map[string][]int{
		"no owner is clear":     c.Single(vague),
		"each is its own":       c.Single(alone),
		"nothing has an owner":  c.Auto(alone, 0),
		"the query is unclear":  c.Auto(vague, 0.5),
		"one owner, none clear": c.Auto(vague, 1),
	} {
		if !slices.Equal(order, []int{0, 1, 2}) {
			t.Errorf("%s: %v", name, order)
		}
	}
	vague[1], vague[2] = vague[2], vague[1]
	if order := c.Auto(vague, 0); !slices.Equal(order, []int{0, 2, 1}) {
		t.Errorf("one of a component: %v", order)
	}
}

func TestCalibrate(t *testing.T) {
	items := Calibrate([]Item{{Score: 60}, {Score: 57}, {Score: 40}, {Score: -5}})
	for i, want := range []float64{0.885, 0.85, 0.5, 0.01} {
		if got := items[i].Score; math.Abs(got-want) > 0.005 {
			t.Errorf("%d: %v, not %v", i, got, want)
		}
	}
	for _, it := range Calibrate([]Item{{Score: 0}, {Score: -1}}) {
		if it.Score != 0 {
			t.Errorf("nothing is relevant: %v", it.Score)
		}
	}
}

func TestEveryOrderHoldsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.Just(true))
		item := rapid.Custom(func(t *rapid.T) Item {
			return Item{
				ID:    rapid.SampledFrom([]string{"i", "j", "k"}).Draw(t, "id"),
				Owner: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "owner"),
				Score: rapid.Float64Range(-1, 1).Draw(t, "score"),
				Seen:  rapid.Bool().Draw(t, "seen"),
				Words: words.Draw(t, "words"),
			}
		})
		items := rapid.SliceOfN(item, 0, 20).Draw(t, "items")
		c := Config{
			KeepSeen: rapid.IntRange(0, 20).Draw(t, "seen"), KeepUnseen: rapid.IntRange(0, 20).Draw(t, "unseen"),
			Clear: 0.5, Alike: 0.7, PerComponent: rapid.IntRange(0, 4).Draw(t, "n"), SingleFrom: 0.7, MultiTo: 0.3,
		}
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		for _, order := range [][]int{c.Single(items), c.Multi(items), c.Auto(items, p)} {
			slices.Sort(order)
			for i := range items {
				if len(order) != len(items) || order[i] != i {
					t.Fatalf("%v of %d", order, len(items))
				}
			}
		}
	})
}
