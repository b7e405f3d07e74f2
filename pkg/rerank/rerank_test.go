package rerank

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// named returns the ids in an order.
func set(words ...string) Words { return WordsOf(words) }

func named(items []Item, order []Place) (ids []string) {
	for _, p := range order {
		ids = append(ids, items[p.At].ID)
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
	if got := named(items, c.Single(items, nil)); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// A tool that says what no clear owner's says is not overtaken: rail.times is all
// that there is for the second need. Without the needs it goes behind.
func TestWhatIsNeededIsNotOvertaken(t *testing.T) {
	items := []Item{
		{ID: "bank.transfer", Owner: "bank", Score: 0.95, Words: set("send", "money")},
		{ID: "maps.route", Owner: "maps", Score: 0.6, Words: set("way", "friend")},
		{ID: "rail.times", Owner: "rail", Score: 0.5, Words: set("train", "leave", "time")},
		{ID: "post.track", Owner: "post", Score: 0.4, Words: set("track")},
		{ID: "bank.limits", Owner: "bank", Score: 0.2, Words: set("limit")},
	}
	needs := []Words{set("send", "money", "friend", "today", "bank"), set("train", "leave")}
	c := DefaultConfig()
	for _, test := range []struct {
		needs []Words
		want  []string
	}{
		{nil, []string{"bank.transfer", "bank.limits", "maps.route", "rail.times", "post.track"}},
		{needs, []string{"bank.transfer", "maps.route", "rail.times", "bank.limits", "post.track"}},
	} {
		if got := named(items, c.Single(items, test.needs)); !slices.Equal(got, test.want) {
			t.Errorf("%d needs: %v", len(test.needs), got)
		}
	}
	if why := c.Single(items, needs)[2].Why; why != OwnNeed {
		t.Errorf("rail.times stands for %q", why)
	}
}

// bank's three tools are one component, and loan, of another owner, says the
// same as bank.credit: four in all, of which the best three stay in front.
// bank.audit is the fifth of them. The two of maps are below the bound.
func TestMultiByHand(t *testing.T) {
	credit := set("ask", "credit", "terms")
	items := []Item{
		{ID: "bank.transfer", Owner: "bank"},
		{ID: "loan", Words: credit},
		{ID: "bank.credit", Owner: "bank", Words: credit},
		{ID: "bank.balance", Owner: "bank"},
		{ID: "maps.route", Owner: "maps", Words: set("ask", "way", "street")},
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
	auto := func(items []Item, single float64) []Place { return c.Order(items, nil, c.Choose(items, single)) }
	for name, order := range map[string][]Place{
		"no owner is clear":     c.Single(vague, nil),
		"each is its own":       c.Single(alone, nil),
		"nothing has an owner":  auto(alone, 0),
		"the query is unclear":  auto(vague, 0.5),
		"one owner, none clear": auto(vague, 1),
	} {
		if !slices.Equal(positions(order), []int{0, 1, 2}) {
			t.Errorf("%s: %v", name, order)
		}
	}
	vague[1], vague[2] = vague[2], vague[1]
	if order := auto(vague, 0); !slices.Equal(positions(order), []int{0, 2, 1}) {
		t.Errorf("one of a component: %v", order)
	}
}

// Whoever reads an explanation is told why a tool stands where it does.
func TestEveryPlaceHasItsReason(t *testing.T) {
	items := []Item{
		{ID: "a1", Owner: "a", Score: 0.9}, {ID: "b1", Owner: "b", Score: 0.5}, {ID: "a2", Owner: "a", Score: 0.4},
		{ID: "b2", Owner: "b", Score: 0.3}, {ID: "a3", Owner: "a", Score: 0.2}, {ID: "s1", Owner: "s", Score: 0.1, Seen: true},
	}
	c := DefaultConfig()
	c.KeepUnseen, c.KeepSeen, c.PerComponent = 4, 2, 1
	for a, want := range map[Algorithm][]Place{
		Single: {{0, ClearOwner}, {2, ClearOwner}, {4, Extended}, {1, OtherOwner}, {3, OtherOwner}, {5, Cut}},
		Multi:  {{0, Front}, {1, Front}, {2, Beyond}, {3, Beyond}, {4, Cut}, {5, Cut}},
		None:   {{0, ""}, {1, ""}, {2, ""}, {3, ""}, {4, ""}, {5, ""}},
	} {
		if got := c.Order(items, nil, a); !slices.Equal(got, want) {
			t.Errorf("%q: %v", a, got)
		}
	}
}

func positions(order []Place) (out []int) {
	for _, p := range order {
		out = append(out, p.At)
	}
	return out
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
		words := rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c"}))
		item := rapid.Custom(func(t *rapid.T) Item {
			return Item{
				ID:    rapid.SampledFrom([]string{"i", "j", "k"}).Draw(t, "id"),
				Owner: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "owner"),
				Score: rapid.Float64Range(-1, 1).Draw(t, "score"),
				Seen:  rapid.Bool().Draw(t, "seen"),
				Words: WordsOf(words.Draw(t, "words")),
			}
		})
		items := rapid.SliceOfN(item, 0, 20).Draw(t, "items")
		c := Config{
			KeepSeen: rapid.IntRange(0, 20).Draw(t, "seen"), KeepUnseen: rapid.IntRange(0, 20).Draw(t, "unseen"),
			Clear: 0.5, Alike: 0.7, OwnNeed: 0.25, PerComponent: rapid.IntRange(0, 4).Draw(t, "n"), SingleFrom: 0.7, MultiTo: 0.3,
		}
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		needs := []Words{set("a", "b"), set("c")}
		for _, places := range [][]Place{c.Single(items, nil), c.Single(items, needs), c.Multi(items), c.Order(items, needs, c.Choose(items, p))} {
			order := positions(places)
			for to, place := range places {
				if place.Why == OwnNeed && to > place.At {
					t.Fatalf("%d was overtaken: %v", place.At, places)
				}
			}
			slices.Sort(order)
			for i := range items {
				if len(order) != len(items) || order[i] != i {
					t.Fatalf("%v of %d", order, len(items))
				}
			}
		}
	})
}
