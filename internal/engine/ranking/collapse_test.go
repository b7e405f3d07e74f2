package ranking

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/schema"
)

// says gives a tool a text and an age.
func says(r *Ranked, description string, first uint64) {
	r.First, r.Sketch = first, index.SketchOf(&schema.Document{Name: "forecast", Description: description}, r.Provider)
}

// used is usage of nothing but priors.
type used map[string]float64

func (u used) Prior(tool string) float64    { return u[tool] }
func (used) CoUse(string, []string) float64 { return 0 }
func (used) Similar(string) float64         { return 0 }
func (used) ClickLogOdds(string) float64    { return 0 }
func rowsOf(hits []Hit) (out string)        { return strings.Join(idsOf(hits), " ") }
func idsOf(hits []Hit) (out []string) {
	for _, h := range hits {
		id := h.ID
		if len(h.Others) > 0 {
			id += "(" + rowsOf(h.Others) + ")"
		}
		out = append(out, id)
	}
	return out
}

// The tool that came first stands where the first of its copies does; a used one stands
// for both.
func TestCopiesShareAPlace(t *testing.T) {
	ranked := scored(tool("copy", "b", 9), tool("map", "c", 8.9), tool("original", "a", 8.8), tool("late", "d", 8.7))
	for i, first := range []uint64{2, 1, 1, 3} {
		says(&ranked[i], "The forecast of the weather.", first)
	}
	says(&ranked[1], "Draws a map.", 1)
	hits := func() []Hit { return Hits([][]Ranked{ranked}, schema.RankTools, "") }
	if got := rowsOf(Collapse(hits(), 2, nil)); got != "original(copy late) map" {
		t.Errorf("by age: %s", got)
	}
	if got := rowsOf(Collapse(hits(), 2, used{"late": 0.7})); got != "late(copy original) map" {
		t.Errorf("by use: %s", got)
	}
	if got := rowsOf(Collapse(Hits([][]Ranked{ranked}, schema.RankProviders, ""), 2, nil)); got != "b c a d" {
		t.Errorf("providers: %s", got)
	}
}

func TestDifferentToolsAreNotCollapsed(t *testing.T) {
	for name, change := range map[string]func(older, newer *Ranked){
		"the same provider":         func(older, newer *Ranked) { newer.Provider = older.Provider },
		"clearly worse for a query": func(older, _ *Ranked) { older.Score = 7 },
		"without a text":            func(_, newer *Ranked) { newer.Sketch = nil },
		"another text":              func(_, newer *Ranked) { says(newer, "Draws a map.", 2) },
	} {
		ranked := scored(tool("newer", "b", 10), tool("older", "a", 10))
		says(&ranked[0], "The forecast of the weather.", 2)
		says(&ranked[1], "The forecast of the weather.", 1)
		if got := rowsOf(Collapse(entities(ranked), 2, nil)); got != "older(newer)" {
			t.Fatalf("before any change: %s", got)
		}
		change(&ranked[1], &ranked[0])
		if got := rowsOf(Collapse(entities(ranked), 2, nil)); got != "newer older" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The copies of one provider that beat the original by other sentences are one result.
func TestCopiesBeforeTheOriginalShareAPlace(t *testing.T) {
	ranked := scored(tool("copy", "b", 10), tool("second", "b", 9.9), tool("map", "c", 9), tool("original", "a", 7))
	says(&ranked[0], "The forecast of the weather. Tells whether to take a coat.", 2)
	says(&ranked[1], "The forecast of the weather. Tells what to put on.", 3)
	says(&ranked[2], "Draws a map.", 1)
	says(&ranked[3], "The forecast of the weather.", 1)
	if got := rowsOf(Collapse(entities(ranked), 3, nil)); got != "copy(second) map original" {
		t.Errorf("%s", got)
	}
	ranked[1].Score = 14
	if got := rowsOf(Collapse(entities(ranked), 3, nil)); got != "copy second map original" {
		t.Errorf("clearly before the first copy: %s", got)
	}
}

// However many copies stand before the others, there are as many results as asked for.
func TestCopiesTakeNoPlaceFromOthers(t *testing.T) {
	var ranked []Ranked
	for i := range 60 {
		ranked = append(ranked, scored(tool(fmt.Sprint("copy", i), fmt.Sprint("p", i), 9))...)
		says(&ranked[i], "The forecast of the weather.", uint64(100-i))
	}
	ranked = append(ranked, scored(tool("map", "a", 8), tool("route", "a", 7))...)
	says(&ranked[60], "Draws a map.", 1)
	says(&ranked[61], "Finds a way.", 1)
	hits := Collapse(entities(ranked), 3, nil)
	if got := []string{hits[0].ID, hits[1].ID, hits[2].ID}; !slices.Equal(got, []string{"copy59", "map", "route"}) || len(hits[0].Others) != 59 {
		t.Errorf("%v with %d others", got, len(hits[0].Others))
	}
}
