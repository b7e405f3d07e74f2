package fusion

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

// anyFinite draws every kind of finite number, the largest included.
func anyFinite() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Float64Range(-20, 20),
		rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64),
		rapid.SampledFrom([]float64{0, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64}),
	)
}

func drawFeatures(t *rapid.T, g *rapid.Generator[float64], label string) (f Features) {
	copy(f[:], rapid.SliceOfN(g, int(FeatureCount), int(FeatureCount)).Draw(t, label))
	return f
}

func drawMatches(t *rapid.T, g *rapid.Generator[float64], label string) []schema.Match {
	match := rapid.Custom(func(t *rapid.T) schema.Match {
		return schema.Match{Score: g.Draw(t, "s"), Required: rapid.Bool().Draw(t, "required")}
	})
	return rapid.SliceOfN(match, 0, 6).Draw(t, label)
}

func drawModel(t *rapid.T) Model {
	return Model{
		Version:  "drawn",
		Features: drawFeatures(t, rapid.Float64Range(0, 20), "weights"),
		Bias:     rapid.Float64Range(-5, 5).Draw(t, "bias"),
		Tau:      rapid.Float64Range(0, 1).Draw(t, "tau"),
		Alpha:    steepness,
		Required: rapid.Float64Range(0.01, 5).Draw(t, "w_req"),
		Optional: rapid.Float64Range(0.01, 5).Draw(t, "w_opt"),
		Shares:   rapid.Bool().Draw(t, "shares"),
	}
}

func TestEveryFeatureHasAUniqueName(t *testing.T) {
	seen := make(map[string]Feature)
	for i, name := range FeatureNames() {
		f := Feature(i)
		if name == "" || f.String() != name {
			t.Fatalf("feature %d is called %q and %q", i, name, f)
		}
		if other, twice := seen[name]; twice {
			t.Fatalf("features %d and %d are both called %q", other, f, name)
		}
		seen[name] = f
		if back, ok := FeatureNamed(name); !ok || back != f {
			t.Fatalf("FeatureNamed(%q) = %d, %v", name, back, ok)
		}
	}
	if _, ok := FeatureNamed("query.lexical.nothing"); ok {
		t.Fatal("an unknown name has a feature")
	}
	if got := FeatureCount.String(); got != "feature.40" {
		t.Fatalf("out of range: %q", got)
	}
}

func TestScoreRisesWithEveryField(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		f := drawFeatures(t, anyFinite(), "features")
		matches := drawMatches(t, rapid.Float64Range(-1, 1), "matches")
		i := rapid.IntRange(0, int(FeatureCount)-1).Draw(t, "field")
		low, _ := m.Score(&f, matches, 1)
		f[i] = rapid.Float64Range(f[i], math.MaxFloat64).Draw(t, "higher")
		high, _ := m.Score(&f, matches, 1)
		if high < low-1e-12*math.Abs(low) {
			t.Fatalf("score fell from %v to %v as %s rose", low, high, Feature(i))
		}
	})
}

func TestPenaltyFallsWithTheMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		matches := drawMatches(t, rapid.Float64Range(-1, 1), "matches")
		if len(matches) == 0 {
			if p := m.Penalty(matches, 1); p != 0 {
				t.Fatalf("penalty %v without parameters", p)
			}
			return
		}
		i := rapid.IntRange(0, len(matches)-1).Draw(t, "parameter")
		worse := m.Penalty(matches, 1)
		matches[i].Score = rapid.Float64Range(matches[i].Score, 1).Draw(t, "better")
		if better := m.Penalty(matches, 1); better > worse {
			t.Fatalf("penalty rose from %v to %v with a better match", worse, better)
		}
	})
}

func TestScoresAreNeverNaN(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		m.Features = drawFeatures(t, rapid.Float64Range(-schema.MaxWeight, schema.MaxWeight), "weights")
		p := Group{
			Better: Example{drawFeatures(t, anyFinite(), "better"), drawMatches(t, anyFinite(), "better matches")},
			Worse:  []Example{{drawFeatures(t, anyFinite(), "worse"), drawMatches(t, anyFinite(), "worse matches")}},
		}
		score, penalty := m.Score(&p.Better.Features, p.Better.Matches, m.Unit(m.Linear(&p.Better.Features)))
		var g gradient
		m.addGradient(&g, &p, 1)
		loss := m.Loss(&p)
		for name, x := range map[string]float64{"score": score, "penalty": penalty, "loss": loss, "tau": g.tau, "w_req": g.required} {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Fatalf("%s is %v", name, x)
			}
		}
		if loss < 0 {
			t.Fatalf("loss %v", loss)
		}
		for i, x := range g.features {
			if math.IsNaN(x) {
				t.Fatalf("gradient of %s is %v", Feature(i), x)
			}
		}
	})
}

func TestRankingIgnoresTheOrderOfCandidates(t *testing.T) {
	type ranked struct {
		id    string
		score float64
	}
	order := func(a, b ranked) int { return Order(a.score, a.id, b.score, b.id) }
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.StringMatching(`[a-c]{1,4}`), rapid.ID).Draw(t, "ids")
		list := make([]ranked, len(ids))
		for i, id := range ids {
			list[i] = ranked{id, float64(rapid.IntRange(0, 2).Draw(t, "score"))}
		}
		shuffled := rapid.Permutation(list).Draw(t, "shuffled")
		slices.SortFunc(list, order)
		shuffled = slices.SortedFunc(slices.Values(shuffled), order)
		if !slices.Equal(list, shuffled) {
			t.Fatalf("%v and %v", list, shuffled)
		}
		for i := 1; i < len(list); i++ {
			a, b := list[i-1], list[i]
			if a.score < b.score || (a.score == b.score && a.id < b.id) {
				t.Fatalf("%v stands before %v", a, b)
			}
		}
	})
}

func TestPenaltyIsThatOfThePaper(t *testing.T) {
	m := modelOf(t, Heuristic())
	got := m.Penalty([]schema.Match{{Score: 0.2, Required: true}, {Score: 0.9}}, m.Unit(30))
	want := 1/(1+math.Exp(-15*(0.5-0.2))) + 0.3/(1+math.Exp(-15*(0.5-0.9)))
	if math.Abs(got-want) > 1e-12 {
		t.Fatalf("penalty %v, want %v", got, want)
	}
}

// Prices of weights in points stay what they are, others follow the best score.
func TestTheUnitOfThePenalty(t *testing.T) {
	missing := []schema.Match{{Required: true}}
	for _, w := range []schema.Weights{Builtin(), Heuristic()} {
		m := modelOf(t, w)
		back, err := ModelOf(mustSeal(t, m.Weights()))
		if err != nil || back != m {
			t.Fatalf("%s comes back as %+v, %v", w.Version, back, err)
		}
		of30, of60, none := m.Penalty(missing, m.Unit(30)), m.Penalty(missing, m.Unit(60)), m.Penalty(missing, m.Unit(-1))
		if shares := w.Version == BuiltinName; shares && (of60 != 2*of30 || none != 0) || !shares && (of60 != of30 || none != of30) {
			t.Errorf("%s: %v of 30, %v of 60, %v of less than nothing", w.Version, of30, of60, none)
		}
	}
}

func modelOf(t testing.TB, w schema.Weights) Model {
	t.Helper()
	return check.Value(ModelOf(w))(t)
}

func mustSeal(t *testing.T, w schema.Weights) schema.Weights {
	t.Helper()
	return check.Value(Seal(w))(t)
}

func TestFieldScores(t *testing.T) {
	phi := []float64{0.2, -0.4, 0.6}
	if got, at := Best(0, nil); got != 0 || at != -1 {
		t.Errorf("best of nothing %v at %d", got, at)
	}
	if got, at := Best(3, func(i int) float64 { return phi[i] }); got != 0.6 || at != 2 {
		t.Errorf("best %v at %d", got, at)
	}
	if got, at := Best(2, func(int) float64 { return -1 }); got != -1 || at != 0 {
		t.Errorf("best of negatives %v at %d", got, at)
	}
	if got := Mean([]float64{0.25, 0.75}); got != 0.5 {
		t.Errorf("mean %v", got)
	}
	if got := Mean(nil); got != 0 {
		t.Errorf("mean of nothing %v", got)
	}
}
