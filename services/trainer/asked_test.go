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
	b.must(b.show(agent, b.asking("s1", 1, "a", "b"), b.asking("s2", 1, "b"), blind))
	b.must(b.report(
		b.feedback("s0", "a", schema.Called), b.feedback("s0", "a", schema.Succeeded), b.feedback("s0", "b", schema.Selected), b.feedback("s0", "c", schema.Called),
		b.feedback("s1", "a", schema.Called), b.feedback("s1", "b", schema.Failed), b.feedback("s2", "b", schema.Succeeded), b.feedback("s3", "a", schema.Called)))
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
		return b.store.usage(t, "default"), b.memory.tenants["default"].asked
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

func TestAnotherModelReplacesWhatWasAsked(t *testing.T) {
	b := newBench(t, Config{})
	b.must(b.show(b.asking("old", 0, "a"), b.asking("late", 1, "a"), b.asking("other", 2, "b")))
	b.must(b.report(b.feedback("old", "a", schema.Called), b.feedback("other", "b", schema.Called)))
	if got := b.asked("a"); !same(got, []schema.Direction{axis(0)}) {
		t.Fatalf("by the first model: %v", got)
	}
	next := b.asking("new", 5, "a", "c")
	next.Model, next.Vector = "n", next.Vector[:16]
	b.must(b.show(next))
	b.must(b.report(b.feedback("new", "a", schema.Called)))
	b.must(b.report(b.feedback("late", "a", schema.Called))) // a use of a search before
	b.advance()
	u := b.store.usage(t, "default")
	if u.Model != "n" || len(u.Asked) != 1 || !same(u.Asked["a"], []schema.Direction{axis(5)[:16]}) {
		t.Fatalf("by the second model %q: %v", u.Model, u.Asked)
	}
	if got := math.Expm1(u.Prior["a"]); got < 2.9 {
		t.Errorf("%v uses of a: all three count, whatever the model", got)
	}
	b.restart(Config{})
	b.must(b.report(b.feedback("late", "a", schema.Succeeded), b.feedback("new", "c", schema.Called)))
	b.advance()
	if u := b.store.usage(t, "default"); u.Model != "n" || !same(u.Asked["c"], []schema.Direction{axis(5)[:16]}) || len(u.Asked) != 2 {
		t.Errorf("after a restart %q: %v", u.Model, u.Asked)
	}
	for key := range b.state.values {
		if key == keyAsked+"default/b" {
			t.Error("an exemplar of the first model is still stored")
		}
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
	if raw := b.store.values[usageKey+"default"]; len(raw) > most+500 {
		t.Errorf("%d bytes are published", len(raw))
	}
	u := b.store.usage(t, "default")
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
	if e := b.memory.tenants["default"].asked["b"]; e[0].Uses.Count != 1 || e[1].Uses.Count != 1 {
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
