package fitting

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

func builtin(t testing.TB) fusion.Model {
	t.Helper()
	return check.Value(fusion.ModelOf(fusion.Builtin()))(t)
}

// registry makes queries over 60 tools, of which one is right and, where together
// is set, the one after it too, which nothing in its features tells. The right
// one stands out by its response, which the built-in weights do not look at, and
// the first ten tools are asked for more often than others.
func registry(queries int, seed uint64, together bool) []Sample {
	const tools = 60
	rng := rand.New(rand.NewPCG(seed, 0))
	samples := make([]Sample, queries)
	for i := range samples {
		right := rng.IntN(10)
		if rng.IntN(3) == 0 {
			right = rng.IntN(tools)
		}
		s := &samples[i]
		s.ID = fmt.Sprint("q", seed, "-", i)
		for j := range tools {
			c := index.Candidate{Ref: schema.Ref{Kind: schema.KindTool, ID: fmt.Sprintf("t%02d", j)}}
			c.Features[fusion.QueryLexicalFlat] = 10 * rng.Float64()
			c.Features[fusion.NeedsDenseResponse] = 0.3 * rng.Float64()
			relevance := 0.0
			switch {
			case j == right:
				c.Features[fusion.QueryLexicalFlat] += 3
				c.Features[fusion.NeedsDenseResponse] += 0.15
				relevance = 1
			case together && j == (right+1)%tools:
				relevance = 1
			}
			if relevance > 0 {
				s.Relevant = append(s.Relevant, c.ID)
			}
			s.Candidates, s.Relevance = append(s.Candidates, c), append(s.Relevance, relevance)
		}
	}
	return samples
}

// reciprocal returns the mean reciprocal rank of the last relevant tool.
func reciprocal(samples []Sample, f Fitted) float64 {
	var sum float64
	usage := &schema.Usage{}
	if f.Usage != nil {
		usage = f.Usage
	}
	prepared := ranking.NewUsage(*usage)
	for _, s := range samples {
		last := 0
		for rank, place := range ranking.Rank(s.Candidates, &f.Model, ranking.Signals{Usage: prepared.For(usage.Model, s.Vector)}) {
			if slices.Contains(s.Relevant, place.ID) {
				last = rank + 1
			}
		}
		sum += 1 / float64(last)
	}
	return sum / float64(len(samples))
}

func fit(t testing.TB, train []Sample, usage bool) Fitted {
	t.Helper()
	return check.Value(Config{Usage: usage}.Fit(context.Background(), builtin(t), train))(t)
}

func TestFitLearnsFeaturesAndUsage(t *testing.T) {
	t.Parallel()
	train, test := registry(80, 1, false), registry(150, 2, false)
	before := reciprocal(test, Fitted{Model: builtin(t)})
	learned := reciprocal(test, fit(t, train, false))
	used := reciprocal(test, fit(t, train, true))
	if learned < before+0.1 || used < learned+0.03 {
		t.Errorf("built in %.3f, learned %.3f, with usage %.3f", before, learned, used)
	}
}

// Common use that ranks worse by the built-in weights ranks better by what is learned with
// it: then it stays.
func TestFitLearnsCommonUse(t *testing.T) {
	t.Parallel()
	train, test := registry(100, 3, true), registry(200, 4, true)
	f := fit(t, train, true)
	if l := (&fitter{samples: train, base: builtin(t), counts: countUses(train)}); !l.usageHarms() || f.Usage == nil {
		t.Error("use does not count where it helps once it is learned from")
	}
	without := f
	without.Model.Features[fusion.UsageCoUse] = 0
	if with, none := reciprocal(test, f), reciprocal(test, without); with < 1.1*none {
		t.Errorf("%.3f with common use, %.3f without", with, none)
	}
}

// alike is a registry in which nothing but earlier queries tells which tool is
// right: a query has a vector near the one of its tool.
func alike(queries int, seed uint64) []Sample {
	samples := registry(queries, seed, false)
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range samples {
		s := &samples[i]
		for j := range s.Candidates {
			s.Candidates[j].Features = fusion.Features{fusion.QueryLexicalFlat: rng.Float64()}
		}
		s.Vector = make([]float32, 64)
		for j := range s.Vector {
			s.Vector[j] = float32(0.06 * rng.NormFloat64())
		}
		s.Vector[slices.Index(s.Relevance, 1)] = 1
	}
	return samples
}

func TestFitLearnsFromSimilarQueries(t *testing.T) {
	t.Parallel()
	train, test := alike(80, 11), alike(150, 12)
	f := fit(t, train, true)
	without := f
	without.Model.Features[fusion.UsageSimilar] = 0
	if with, none := reciprocal(test, f), reciprocal(test, without); with < 1.5*none {
		t.Errorf("%.3f with similar queries, %.3f without", with, none)
	}
	for i := range train {
		train[i].Vector = nil
	}
	if u := Usage(train); len(u.Asked) > 0 {
		t.Errorf("without vectors %d tools were asked for", len(u.Asked))
	}
}

// A query that asks for what no other one does is like itself alone, and must
// not look as if that said anything.
func TestAQueryIsNotComparedWithItself(t *testing.T) {
	samples := alike(60, 13)
	c := countUses(samples)
	for i := range samples {
		s := &samples[i]
		tool := s.Relevant[0]
		others := slices.Concat(samples[:i], samples[i+1:])
		table := countUses(others).usage()
		want := ranking.NewUsage(*table).For(table.Model, s.Vector)
		got := c.without(s)
		for _, id := range []string{tool, "t00", "t05", "t59"} {
			if math.Abs(got.Similar(id)-want.Similar(id)) > 1e-6 {
				t.Errorf("query %d, tool %s: %v, without the query it is %v", i, id, got.Similar(id), want.Similar(id))
			}
		}
		if c.uses[tool] == 1 && got.Similar(tool) != 0 {
			t.Errorf("query %d is the only one for %s, and similar to it by %v", i, tool, got.Similar(tool))
		}
	}
}

func TestQueriesOfAToolAreBounded(t *testing.T) {
	var samples []Sample
	for i := range 30 {
		s := Sample{Vector: make([]float32, 32)}
		s.Vector[i] = 1
		s.ID, s.Relevant = fmt.Sprint(i), []string{"a"}
		samples = append(samples, s)
	}
	u := countUses(samples).usage()
	if err := u.Validate(); err != nil || len(u.Asked["a"]) != schema.MaxAsked {
		t.Errorf("%d queries of a tool: %v", len(u.Asked["a"]), err)
	}
}

// Where every tool is asked for once, uses say nothing, and what is counted of
// a query itself must not look as if they did.
func TestOwnUsesDoNotLeak(t *testing.T) {
	train := registry(60, 5, true)
	for i := range train {
		s := &train[i]
		for j := range s.Relevance {
			s.Relevance[j] = 0
		}
		s.Relevance[i] = 1
		s.Relevant = []string{s.Candidates[i].ID}
	}
	if w := fit(t, train, true).Model.Features[fusion.UsagePrior]; w > 0 {
		t.Errorf("the prior weighs %.3f where it says nothing", w)
	}
}

// Who wants to be sure corrects what ranks wrong, and leaves what ranks right as it is.
func TestSureCorrectionsRankBetter(t *testing.T) {
	wrong := registry(40, 10, false)
	right := registry(40, 10, false)
	for i := range right {
		for j := range right[i].Candidates {
			right[i].Candidates[j].Features[fusion.QueryLexicalFlat] = 20 * right[i].Relevance[j]
		}
	}
	base := builtin(t)
	for what, c := range map[string]struct {
		train   []Sample
		correct bool
	}{"wrong": {wrong, true}, "right": {right, false}} {
		sure := check.Value(Config{Sure: true}.Fit(t.Context(), base, c.train))(t)
		if corrected := sure.Model != base; corrected != c.correct {
			t.Errorf("%s: corrected: %v", what, corrected)
		}
		if free := fit(t, c.train, false).Model; c.correct && sure.Model != free || free == base {
			t.Errorf("%s: to be sure changes what is learned", what)
		}
	}
}

func TestFitIsDeterministic(t *testing.T) {
	train := registry(20, 6, true)
	first, second := fit(t, train, true), fit(t, train, true)
	if first.Model != second.Model || !reflect.DeepEqual(first.Usage, second.Usage) {
		t.Error("the same queries gave two models")
	}
}

func TestFitStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (Config{}).Fit(ctx, builtin(t), registry(3, 7, false)); err == nil {
		t.Error("learned although nobody waits")
	}
}

func TestNegatives(t *testing.T) {
	f := &fitter{}
	s := registry(4, 8, true)[0]
	for i := range 240 {
		c := s.Candidates[i%60]
		c.ID = fmt.Sprint("more", i)
		s.Candidates, s.Relevance = append(s.Candidates, c), append(s.Relevance, 0)
	}
	examples := make([]fusion.Example, len(s.Candidates))
	for i := range examples {
		examples[i].Features = s.Candidates[i].Features
	}
	got := f.negatives(&s, examples)
	if len(got) != hardNegatives+randomNegatives || !slices.Equal(got, f.negatives(&s, examples)) {
		t.Fatalf("%d negatives: %v", len(got), got)
	}
	order := byHardness(examples)
	for i, at := range got {
		if s.Relevance[at] > 0 || slices.Contains(got[:i], at) {
			t.Errorf("%d is relevant or stands twice in %v", at, got)
		}
		if i < hardNegatives && slices.Index(order, at) > i+2 {
			t.Errorf("%d is place %d of the hardest", at, slices.Index(order, at))
		}
	}
}

// What a lesson counts by itself is what a search makes of the table.
func TestFittingCountsUsageAsSearchesDo(t *testing.T) {
	samples := registry(50, 9, true)
	c := countUses(samples)
	table := c.usage()
	check.OK(t, table.Validate())
	front := []string{"t01", "t02", "t03"}
	counted, searched := others{counts: c, sample: &Sample{}}, ranking.NewUsage(*table).For("", nil)
	for _, id := range []string{"t00", "t02", "t04", "t59"} {
		if got, want := counted.CoUse(id, front), searched.CoUse(id, front); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: common use %v, a search has %v", id, got, want)
		}
		if got, want := counted.Prior(id), searched.Prior(id); got != want {
			t.Errorf("%s: prior %v, a search has %v", id, got, want)
		}
	}
}
