package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/asked"
	"github.com/toolstream/toolstream/pkg/schema"
)

// axis is the vector of a query that is like no other axis.
func axis(n int) schema.Direction {
	d := make(schema.Direction, 32)
	d[n] = 127
	return d
}

// asking is a search for axis n by the model m.
func (b *bench) asking(search string, n int, tools ...string) schema.Impression {
	i := b.impression(search, tools...)
	i.Model, i.Vector = "m", axis(n)
	return i
}

func (b *bench) asked(tool string) []schema.Direction {
	b.t.Helper()
	b.advance()
	return b.store.usage(b.t, "default").Asked[tool]
}

func same(a, b []schema.Direction) bool {
	return slices.EqualFunc(a, b, func(x, y schema.Direction) bool { return slices.Equal(x, y) })
}

func TestUsesSayWhatAToolWasAskedFor(t *testing.T) {
	b := newBench(t, Config{})
	agent := b.asking("s0", 0, "a", "b", "c")
	agent.Shown[2].Kind = schema.KindAgent
	blind := b.impression("s3", "a")
	blind.Model = "m"
	b.must(b.show(agent, b.asking("s1", 1, "a", "b"), b.asking("s2", 1, "b"), b.asking("s4", 1, "b"), blind))
	b.must(b.report(
		b.feedback("s0", "a", schema.Called), b.feedback("s0", "a", schema.Succeeded), b.feedback("s0", "b", schema.Selected), b.feedback("s0", "c", schema.Called),
		b.feedback("s1", "a", schema.Called), b.feedback("s1", "b", schema.Failed), b.feedback("s2", "b", schema.Succeeded), b.feedback("s4", "b", schema.Called), b.feedback("s3", "a", schema.Called)))
	b.advance()
	u := b.store.usage(t, "default")
	if u.Model != "m" || len(u.Asked) != 2 || !same(u.Asked["a"], []schema.Direction{axis(1), axis(0)}) || !same(u.Asked["b"], []schema.Direction{axis(1)}) {
		t.Fatalf("%q was asked: %v", u.Model, u.Asked)
	}
	if got := math.Expm1(u.Prior["a"]); math.Abs(got-3) > 1e-3 {
		t.Errorf("%v uses of a", got)
	}
}

func TestNothingOfAQueryIsKeptButItsVector(t *testing.T) {
	b := newBench(t, Config{})
	imp := b.asking("s", 0, "a", "b")
	imp.Query = "a secret of mine"
	b.must(b.show(imp))
	b.must(b.report(b.feedback("s", "b", schema.Called)))
	b.asked("b")
	for key, value := range b.state.values {
		if strings.Contains(value, "secret") {
			t.Errorf("%s: %s", key, value)
		}
	}
	for key, value := range b.store.values {
		if strings.Contains(string(value), "secret") {
			t.Errorf("%s: %s", key, value)
		}
	}
}

// The same uses come in any order, feedback before its search among them, with a
// restart in between.
func TestTheOrderOfEventsDoesNotMatter(t *testing.T) {
	run := func(seed uint64) (schema.Usage, map[string]asked.Exemplars) {
		b := newBench(t, Config{})
		start := b.now
		var steps []func() error
		for i := range 12 {
			at := start.Add(time.Duration(i) * time.Hour)
			imp := b.asking(fmt.Sprint("s", i), i%10, "a", "b")
			f := b.feedback(imp.SearchID, "b", schema.Called)
			imp.Time, f.Time = at, at.Add(time.Minute)
			steps = append(steps, func() error { return b.show(imp) }, func() error { return b.report(f) })
		}
		b.now = start.Add(20 * time.Hour)
		if seed > 0 {
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		}
		for i, step := range steps {
			if b.must(step()); i == 11 {
				b.restart(Config{})
			}
		}
		b.advance()
		return b.store.usage(t, "default"), b.memory.tenants["default"].spaces[0].asked
	}
	// Two of ten queries come again at the end; before them eight others have
	// made the first ones give way, or not: by time, and that alone.
	want, _ := run(0)
	if len(want.Asked["b"]) != schema.MaxAsked {
		t.Fatalf("%d exemplars", len(want.Asked["b"]))
	}
	for seed := range uint64(20) {
		got, _ := run(seed + 1)
		if !same(got.Asked["b"], want.Asked["b"]) {
			t.Errorf("order %d: %v, want %v", seed, got.Asked["b"], want.Asked["b"])
		}
	}
}

// What was asked is kept for the model that is searched by and for the one
// before, and serves again after a step back; a third model replaces the oldest.
func TestWhatWasAskedIsKeptByModel(t *testing.T) {
	b := newBench(t, Config{})
	by := func(model, search string, n int, tools ...string) schema.Impression {
		b.now = b.now.Add(time.Minute)
		imp := b.asking(search, n, tools...)
		imp.Model, imp.Time = model, b.now
		return imp
	}
	use := func(search, tool string) { b.must(b.report(b.feedback(search, tool, schema.Called))) }
	wants := func(step, model string, asked map[string]int, others ...schema.Asked) {
		t.Helper()
		b.advance()
		u := b.store.usage(t, "default")
		ok := u.Model == model && len(u.Asked) == len(asked) && len(u.Others) == len(others)
		for tool, n := range asked {
			ok = ok && same(u.Asked[tool], []schema.Direction{axis(n)})
		}
		for i := range min(len(others), len(u.Others)) {
			ok = ok && u.Others[i].Model == others[i].Model && same(u.Others[i].Tools["a"], others[i].Tools["a"])
		}
		if !ok {
			t.Fatalf("%s: by %q %v, by others %v", step, u.Model, u.Asked, u.Others)
		}
	}
	other := func(model string, n int) schema.Asked {
		return schema.Asked{Model: model, Tools: map[string][]schema.Direction{"a": {axis(n)}}}
	}
	b.must(b.show(by("m", "old", 0, "a"), by("m", "late", 1, "b")))
	use("old", "a")
	wants("one model", "m", map[string]int{"a": 0})
	b.must(b.show(by("n", "new", 5, "a")))
	use("new", "a")
	wants("two models", "n", map[string]int{"a": 5}, other("m", 0))
	b.restart(Config{})
	use("late", "b") // of a search before the change
	b.must(b.show(by("m", "back", 0, "c")))
	use("back", "c")
	wants("a step back", "m", map[string]int{"a": 0, "b": 1, "c": 0}, other("n", 5))
	b.must(b.show(by("o", "third", 7, "a")))
	use("third", "a")
	wants("a third model", "o", map[string]int{"a": 7}, other("m", 0))
	b.must(b.report(b.feedback("new", "a", schema.Succeeded)))
	wants("a late use by a model that is gone", "o", map[string]int{"a": 7}, other("m", 0))
	if got := math.Expm1(b.store.usage(t, "default").Prior["a"]); got < 2.9 {
		t.Errorf("%v uses of a: all three count, whatever the model", got)
	}
}

func TestWhatWasAskedFades(t *testing.T) {
	b := newBench(t, Config{HalfLife: time.Hour})
	b.must(b.show(b.asking("s", 0, "a", "b")))
	b.must(b.report(b.feedback("s", "b", schema.Called)))
	if len(b.asked("b")) != 1 {
		t.Fatal("not asked")
	}
	b.now = b.now.Add(24 * time.Hour)
	if got := b.asked("b"); got != nil {
		t.Errorf("%v is still published", got)
	}
	for key := range b.state.values {
		if strings.HasPrefix(key, keyAsked) {
			t.Errorf("%s is still stored", key)
		}
	}
}

func TestPublishedUsageKeepsToItsBudget(t *testing.T) {
	const most = 12 << 10
	b := newBench(t, Config{UsageBytes: most, Remembered: 10_000})
	for i := range 300 {
		search := fmt.Sprint("s", i)
		tools := []string{fmt.Sprint("often", i%5), fmt.Sprint("seldom", i), "last"}
		imp := b.asking(search, i%32, tools...)
		imp.Vector = slices.Repeat(imp.Vector, 8)
		b.must(b.show(imp))
		b.must(b.report(b.feedback(search, tools[0], schema.Called), b.feedback(search, tools[1], schema.Called)))
	}
	b.advance()
	if raw := b.store.values[usageKey+"default"]; len(raw) > 2*most+500 {
		t.Errorf("%d bytes are published", len(raw))
	}
	u := b.store.usage(t, "default")
	if n := len(u.Came); n == 0 || n == 32 {
		t.Errorf("what came of %d questions", n)
	}
	if len(u.Asked["often0"]) == 0 || len(u.CoUse) == 0 || len(u.Prior) < 5 {
		t.Errorf("%d tools with queries, %d used together, %d used", len(u.Asked), len(u.CoUse), len(u.Prior))
	}
	for tool := range u.Asked {
		if strings.HasPrefix(tool, "seldom") {
			t.Errorf("%s has a place and not all of the most used have", tool)
		}
	}
}

// What is prepared is saved, and then published: a trainer that ends in between
// publishes the same when it is back.
func TestWhatWasAskedOutlivesAnEndBeforeItIsPublished(t *testing.T) {
	b := newBench(t, Config{})
	b.must(b.show(b.asking("s", 0, "a", "b"), b.asking("t", 1, "a", "b")))
	b.must(b.report(b.feedback("s", "b", schema.Called)))
	b.advance()
	b.must(b.report(b.feedback("t", "b", schema.Called)))
	b.state.fail = func() error { b.store.down = errors.New("killed"); return nil }
	b.now = b.now.Add(2 * time.Minute)
	if err := b.Advance(context.Background()); err == nil {
		t.Fatal("published to a store that is down")
	}
	b.state.fail, b.store.down = nil, nil
	b.restart(Config{})
	b.must(b.report(b.feedback("t", "b", schema.Called))) // redelivered
	if got := b.asked("b"); !same(got, []schema.Direction{axis(1), axis(0)}) {
		t.Fatalf("%v", got)
	}
	if e := b.memory.tenants["default"].spaces[0].asked["b"]; e[0].Uses.Count != 1 || e[1].Uses.Count != 1 {
		t.Errorf("counted twice: %+v", e)
	}
}

func TestVectorsThatCanNotBeAreRefused(t *testing.T) {
	b := newBench(t, Config{})
	long, zeros, beyond, named := b.asking("s0", 0, "a"), b.asking("s1", 0, "a"), b.asking("s2", 0, "a"), b.asking("s3", 0, "a")
	long.Vector = slices.Repeat(long.Vector, 1000)
	zeros.Vector = make(schema.Direction, 32)
	beyond.Vector[3] = -128
	named.Model = strings.Repeat("m", schema.MaxModel+1)
	b.must(b.show(long, zeros, beyond, named))
	if got := b.outcome(badImpression); got != 4 {
		t.Errorf("%d impressions refused", got)
	}
}

// A state of before vectors were kept is read on.
func TestSearchesWithoutVectorsAreReadOn(t *testing.T) {
	b := newBench(t, Config{})
	old, err := json.Marshal(struct {
		Shown []schema.Shown `json:"shown"`
	}{b.impression("s", "a", "b").Shown})
	b.must(err)
	b.state.values[keySearch+"default/s"] = string(append(encodeTime(b.now), old...))
	b.state.values[keyUse+"default/b"] = `{"n":2,"t":"2025-03-01T12:00:00Z"}`
	b.must(b.report(b.feedback("s", "b", schema.Called)))
	b.advance()
	u := b.store.usage(t, "default")
	if got := math.Expm1(u.Prior["b"]); math.Abs(got-3) > 1e-3 || u.Asked != nil || u.Model != "" {
		t.Errorf("%v uses, asked %v by %q", got, u.Asked, u.Model)
	}
}
