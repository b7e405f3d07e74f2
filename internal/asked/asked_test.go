package asked

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/pkg/schema"
)

const halfLife = 14 * 24 * time.Hour

func day(n int) time.Time { return time.Date(2025, 3, n, 12, 0, 0, 0, time.UTC) }

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

type use struct {
	query schema.Direction
	at    time.Time
}

func taught(uses ...use) Exemplars {
	var e Exemplars
	for _, u := range uses {
		e = e.Add(u.query, u.at, halfLife)
	}
	return e
}

// alike reports whether two lists hold the same to within rounding.
func alike(a, b Exemplars) bool {
	return slices.EqualFunc(a, b, func(x, y Exemplar) bool {
		return slices.Equal(x.Vector, y.Vector) && x.Uses.At.Equal(y.Uses.At) && math.Abs(x.Uses.Count-y.Uses.Count) < 1e-9
	})
}

func TestWhatAsksForTheSameIsOneExemplar(t *testing.T) {
	e := taught(use{axis(0), day(1)}, use{beside(0, 0.3), day(1)}, use{beside(0, 0.4), day(1)})
	if len(e) != 2 {
		t.Fatalf("%d exemplars of a query, one with cosine %.3f and one with %.3f", len(e), math.Cos(0.3), math.Cos(0.4))
	}
	for _, x := range e {
		if slices.Equal(x.Vector, axis(0)) && x.Uses.Count != 2 {
			t.Errorf("used %v times", x.Uses.Count)
		}
	}
	// The nearest one is used, not the first that is near enough.
	e = taught(use{axis(0), day(1)}, use{beside(0, 0.4), day(1)}, use{beside(0, 0.25), day(1)})
	i := slices.IndexFunc(e, func(x Exemplar) bool { return slices.Equal(x.Vector, axis(0)) })
	if len(e) != 2 || e[1-i].Uses.Count != 2 {
		t.Errorf("%+v", e)
	}
}

func TestTheOrderOfUsesDoesNotMatter(t *testing.T) {
	for name, uses := range map[string][]use{
		"few, some again": {{axis(0), day(1)}, {axis(1), day(9)}, {axis(0), day(5)}, {axis(2), day(2)}, {axis(1), day(3)}, {axis(0), day(1)}},
		"too many": {
			{axis(0), day(1)}, {axis(1), day(2)}, {axis(2), day(3)}, {axis(3), day(4)}, {axis(4), day(5)}, {axis(5), day(6)},
			{axis(6), day(7)}, {axis(7), day(8)}, {axis(8), day(9)}, {axis(9), day(10)}, {axis(10), day(11)},
		},
		"too many at once": {
			{axis(0), day(1)}, {axis(1), day(1)}, {axis(2), day(1)}, {axis(3), day(1)}, {axis(4), day(1)},
			{axis(5), day(1)}, {axis(6), day(1)}, {axis(7), day(1)}, {axis(8), day(1)}, {axis(9), day(1)},
		},
	} {
		want := taught(uses...)
		rng := rand.New(rand.NewPCG(1, 2))
		for range 50 {
			rng.Shuffle(len(uses), func(i, j int) { uses[i], uses[j] = uses[j], uses[i] })
			if got := taught(uses...); !alike(got, want) {
				t.Errorf("%s: %v\nwant %v", name, got, want)
			}
		}
	}
}

func TestTheLeastUsedGivesWayButNotTheNewest(t *testing.T) {
	var e Exemplars
	for i := range schema.MaxAsked {
		for range 3 + i {
			e = e.Add(axis(i), day(1), halfLife)
		}
	}
	e = e.Add(axis(10), day(2), halfLife)
	has := func(n int) bool {
		return slices.ContainsFunc(e, func(x Exemplar) bool { return slices.Equal(x.Vector, axis(n)) })
	}
	if !has(10) || has(0) || !has(1) || len(e) != schema.MaxAsked {
		t.Fatalf("after a new kind of query: %+v", e)
	}
	e = e.Add(axis(11), day(3), halfLife)
	if !has(11) || has(10) || !has(1) {
		t.Fatalf("after another one: %+v", e)
	}
	// What comes late says of old times: it may be the least used one itself.
	e = e.Add(axis(12), day(1), halfLife)
	if has(12) || !has(11) {
		t.Fatalf("after one of before: %+v", e)
	}
}

func TestExemplarsFade(t *testing.T) {
	e := taught(use{axis(0), day(1)}, use{axis(1), day(1).Add(6 * halfLife)})
	if got := e.Faded(day(1).Add(7*halfLife), halfLife); len(got) != 1 || !slices.Equal(got[0].Vector, axis(1)) {
		t.Errorf("%+v", got)
	}
}

func TestExemplarsAreBoundedAndOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e Exemplars
		for range rapid.IntRange(0, 40).Draw(t, "uses") {
			d := schema.NewDirection(rapid.SliceOfN(rapid.Float32Range(-1, 1), 4, 4).Draw(t, "query"))
			if d == nil {
				continue
			}
			e = e.Add(d, day(rapid.IntRange(1, 90).Draw(t, "day")), halfLife)
			if len(e) > schema.MaxAsked {
				t.Fatalf("%d exemplars", len(e))
			}
			for i := 1; i < len(e); i++ {
				if slices.Compare(e[i-1].Vector, e[i].Vector) >= 0 {
					t.Fatalf("out of order: %v", e.Vectors())
				}
			}
		}
	})
}

func TestATableAnswersAsOneByOne(t *testing.T) {
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
	table := NewTable(asked)
	for range 20 {
		query := random()
		want := map[string]float64{}
		for tool, list := range asked {
			for _, d := range list {
				if x := Alike(d.Cosine(schema.NewDirection(query))); x > want[tool] {
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
	table := NewTable(map[string][]schema.Direction{"a": {{127, 0}}})
	nan := float32(math.NaN())
	for name, query := range map[string][]float32{"none": nil, "longer": {1, 0, 0}, "shorter": {1}, "NaN": {nan, 1}, "zeros": {0, 0}, "opposite": {-1, 0}} {
		if got := table.Similar(query); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := table.Similar([]float32{1, 0}); !reflect.DeepEqual(got, map[string]float64{"a": 1}) {
		t.Errorf("itself: %v", got)
	}
	var none *Table
	if got := none.Similar([]float32{1, 0}); got != nil {
		t.Errorf("of no table: %v", got)
	}
	if got := NewTable(nil).Similar([]float32{1, 0}); got != nil {
		t.Errorf("of an empty table: %v", got)
	}
}

func BenchmarkSimilar(b *testing.B) {
	asked := map[string][]schema.Direction{}
	rng := rand.New(rand.NewPCG(5, 6))
	query := make([]float32, 256)
	for i := range 500 {
		for j := range query {
			query[j] = float32(rng.NormFloat64())
		}
		tool := fmt.Sprint("t", i/4)
		asked[tool] = append(asked[tool], schema.NewDirection(query))
	}
	table := NewTable(asked)
	for b.Loop() {
		table.Similar(query)
	}
}

func TestATableFindsTheSame(t *testing.T) {
	table := NewTable(map[string][]schema.Direction{"a": {axis(0), axis(1)}, "b": {beside(1, 0.2)}, "c": {axis(2)}})
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
	if got := (*Table)(nil).Same(components(axis(0))); got != "" {
		t.Errorf("no table: %q", got)
	}
}
