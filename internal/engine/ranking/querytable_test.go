package ranking

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

// axis is a query that is like no other axis.
func axis(n int) schema.Direction {
	v := make([]float32, 16)
	v[n] = 1
	return schema.NewDirection(v)
}

// beside is a query at that angle of axis n, in radians.
func beside(n int, angle float64) schema.Direction {
	v := make([]float32, 16)
	v[n], v[15] = float32(math.Cos(angle)), float32(math.Sin(angle))
	return schema.NewDirection(v)
}

func TestAQueryTableComparesAsDirectionsDo(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	random := func() []float32 {
		v := make([]float32, 100)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return v
	}
	asked := map[string][]schema.Direction{"nothing": nil}
	for i := range 40 {
		for range rng.IntN(schema.MaxAsked + 1) {
			asked[fmt.Sprint("t", i)] = append(asked[fmt.Sprint("t", i)], schema.NewDirection(random()))
		}
	}
	// A direction that another program rounded differently is as good.
	coarse := make(schema.Direction, 100)
	coarse[3], coarse[4] = 1, -2
	asked["coarse"] = []schema.Direction{coarse}
	table := NewQueryTable(asked)
	for range 20 {
		query := random()
		want := map[string]float64{}
		for tool, list := range asked {
			for _, d := range list {
				if x := Similarity(d.Cosine(schema.NewDirection(query))); x > want[tool] {
					want[tool] = x
				}
			}
		}
		got := table.Similar(query)
		if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
			t.Fatalf("%v, want %v", got, want)
		}
		for tool, x := range want {
			tolerance := 1e-4
			if tool == "coarse" {
				tolerance = 5e-3 // half a step of 127 for a component of half the largest
			}
			if math.Abs(got[tool]-x) > tolerance {
				t.Errorf("%s: %v, want %v", tool, got[tool], x)
			}
		}
	}
}

func TestATableKnowsNothingOfOtherVectors(t *testing.T) {
	table := NewQueryTable(map[string][]schema.Direction{"a": {{127, 0}}})
	nan := float32(math.NaN())
	for name, query := range map[string][]float32{"none": nil, "longer": {1, 0, 0}, "shorter": {1}, "NaN": {nan, 1}, "zeros": {0, 0}, "opposite": {-1, 0}} {
		if got := table.Similar(query); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := table.Similar([]float32{1, 0}); !reflect.DeepEqual(got, map[string]float64{"a": 1}) {
		t.Errorf("itself: %v", got)
	}
	var none *QueryTable
	if got := none.Similar([]float32{1, 0}); got != nil {
		t.Errorf("of no table: %v", got)
	}
	if got := NewQueryTable(nil).Similar([]float32{1, 0}); got != nil {
		t.Errorf("of an empty table: %v", got)
	}
}

func TestATableFindsTheSame(t *testing.T) {
	table := NewQueryTable(map[string][]schema.Direction{"a": {axis(0), axis(1)}, "b": {beside(1, 0.2)}, "c": {axis(2)}})
	for _, c := range []struct {
		query []float32
		want  string
	}{
		{components(axis(0)), "a"}, {components(axis(1)), "a"}, {components(beside(1, 0.15)), "b"}, {components(axis(2)), "c"},
		{components(beside(2, 0.5)), ""}, {components(axis(3)), ""}, {nil, ""}, {[]float32{1}, ""},
	} {
		if got := table.Same(c.query); got != c.want {
			t.Errorf("%v: %q, want %q", c.query, got, c.want)
		}
	}
	if got := (*QueryTable)(nil).Same(components(axis(0))); got != "" {
		t.Errorf("no table: %q", got)
	}
}
