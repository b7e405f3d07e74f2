package trainer

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// askers lets n clients ask for axis 0, of whom each calls the tools at the
// positions that calls returns.
func (b *bench) askers(prefix string, n int, calls func(i int) []int, tools ...string) {
	b.t.Helper()
	for i := range n {
		imp := b.asking(fmt.Sprint(prefix, i), 0, tools...)
		b.must(b.show(imp))
		for _, position := range calls(i) {
			f := b.feedback(imp.SearchID, tools[position], schema.Called)
			f.Client = fmt.Sprint(prefix, "-client", i)
			b.must(b.report(f))
		}
	}
	b.advance()
}

// Where a model's vectors change their length, what was asked before does not compare
// any more: it is left out, and nothing fails of it.
func TestVectorsOfAnotherLengthAreLeftOut(t *testing.T) {
	b := newBench(t, Config{Retrain: 8})
	ask := func(prefix string, dimensions int) {
		for i := range 60 {
			imp := b.asking(fmt.Sprint(prefix, i), 0, "wordy", "right", "other")
			imp.Vector = make(schema.Direction, dimensions)
			imp.Vector[i%dimensions] = 127
			b.must(b.show(imp))
			b.must(b.report(b.feedback(imp.SearchID, "right", schema.Called)))
			b.now = b.now.Add(time.Second)
		}
		b.advance()
	}
	ask("long", 64)
	ask("short", 32)
	u := b.store.usage(t, "default")
	if len(u.Came) != 32 || len(u.Asked["right"]) == 0 {
		t.Errorf("of %d questions something came, %d ask for the tool", len(u.Came), len(u.Asked["right"]))
	}
	for _, d := range u.Asked["right"] {
		if len(d) != 32 {
			t.Errorf("a query of %d dimensions", len(d))
		}
	}
	ask("long again", 64)
	if u := b.store.usage(t, "default"); len(u.Came) != 60 {
		t.Errorf("of %d questions something came once the first length is back", len(u.Came))
	}
}

// What the others pass over was called by mistake.
func TestAMistakeIsOutvoted(t *testing.T) {
	b := newBench(t, Config{})
	b.askers("s", 12, func(i int) []int {
		if i == 5 {
			return []int{0}
		}
		return []int{1}
	}, "wordy", "right", "other")
	u := b.store.usage(t, "default")
	if len(u.Asked["right"]) != 1 || u.Asked["wordy"] != nil || u.Prior["wordy"] != 0 || u.Prior["right"] < 2.4 {
		t.Errorf("used: %v, for queries: %v", u.Prior, u.Asked)
	}
}

// Two tools that are right for the same belong together, though hardly anybody looks
// down to the second.
func TestWhatIsWantedTogetherNeedNotBeCalledTogether(t *testing.T) {
	b := newBench(t, Config{})
	b.askers("s", 8, func(i int) []int {
		if i == 2 || i == 5 {
			return []int{0, 3}
		}
		return []int{0}
	}, "first", "other", "another", "second")
	if u := b.store.usage(t, "default"); u.CoUse["first"]["second"] < 1.5 || u.CoUse["first"]["other"] != 0 {
		t.Errorf("together: %v", u.CoUse)
	}
}

// One who asks the same again and again is one, and a search that is reported on
// twice is one search.
func TestAClientHasOneVoice(t *testing.T) {
	b := newBench(t, Config{})
	for i := range 30 {
		imp := b.asking(fmt.Sprint("s", i), 0, "a", "b")
		f := b.feedback(imp.SearchID, "b", schema.Called)
		f.Client = "one"
		b.must(b.show(imp))
		b.must(b.report(f))
	}
	b.advance()
	late := b.feedback("s29", "a", schema.Called)
	late.Client = "one"
	b.must(b.report(late))
	b.advance()
	questions := b.memory.tenants["default"].questions
	if len(questions) != 1 {
		t.Fatalf("%d questions", len(questions))
	}
	for _, q := range questions {
		if len(q.Seen) != 1 || len(q.Seen[0].Called) != 2 {
			t.Errorf("%+v", q.Seen)
		}
	}
}

// Whose clicks fall where nobody else finds anything is not believed.
func TestWhoThrowsDiceIsNotBelieved(t *testing.T) {
	b := newBench(t, Config{Questions: 100})
	for axis := range 10 {
		for i := range 6 {
			imp := b.asking(fmt.Sprint("s", axis, "-", i), axis, "a", "b", "c", "d", "e", "f")
			f := b.feedback(imp.SearchID, "a", schema.Called)
			if f.Client = fmt.Sprint("client", i); i == 5 {
				f.Client, f.ToolID = "dice", "d"
			}
			b.must(b.show(imp))
			b.must(b.report(f))
		}
	}
	b.advance()
	beliefs := b.memory.tenants["default"].believe()
	if dice, other := beliefs.of("dice"), beliefs.of("client1"); dice > 0.2 || other < 0.8 {
		t.Errorf("who throws dice is believed by %v, the others by %v", dice, other)
	}
}

func TestQuestionsAreBoundedAndOutliveARestart(t *testing.T) {
	cfg := Config{Questions: 5}
	b := newBench(t, cfg)
	for i := range 12 {
		imp := b.asking(fmt.Sprint("s", i), i, "a", "b")
		b.must(b.show(imp))
		b.must(b.report(b.feedback(imp.SearchID, "b", schema.Called)))
		b.advance()
	}
	before := b.memory.tenants["default"].questions
	stored := 0
	for key := range b.state.values {
		if strings.HasPrefix(key, keyQuestion) {
			stored++
		}
	}
	if len(before) != 5 || stored != 5 {
		t.Fatalf("%d questions, %d stored", len(before), stored)
	}
	b.restart(cfg)
	b.advance()
	after := b.memory.tenants["default"].questions
	for id, q := range before {
		want, _ := json.Marshal(q)
		if got, _ := json.Marshal(after[id]); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %s, was %s", id, got, want)
		}
	}
}

// Learning begins anew from the questions, and comes to what they say at once.
// A question that shows other results each time, as with filters, remembers no more of
// them than there is room for.
func TestResultsOfAQuestionAreBounded(t *testing.T) {
	b := newBench(t, quick())
	for i := range maxObservations {
		var shown []string
		for j := range maxLooked {
			shown = append(shown, fmt.Sprintf("tool-%d-%d", i, j))
		}
		imp := b.impression(fmt.Sprint("s", i), shown...)
		imp.Model, imp.Vector = "m", axis(1)
		b.must(b.show(imp))
		f := b.feedback(imp.SearchID, shown[1], schema.Called)
		f.Client = fmt.Sprint("client", i)
		b.must(b.report(f))
		b.advance()
	}
	list := b.memory.tenants["default"].byAge()
	if len(list) != 1 {
		t.Fatalf("%d questions", len(list))
	}
	q := list[0]
	if len(q.Tools) > maxTools || len(q.Seen) != maxTools/maxLooked {
		t.Errorf("%d results of %d searches are remembered", len(q.Tools), len(q.Seen))
	}
	if newest := q.Seen[len(q.Seen)-1]; newest.Search != fmt.Sprint("default/s", maxObservations-1) || q.Tools[newest.Called[0]].ID != fmt.Sprintf("tool-%d-1", maxObservations-1) {
		t.Errorf("the newest is %+v", newest)
	}
}

func TestLearningBeginsAnewFromTheQuestions(t *testing.T) {
	b := newBench(t, Config{Retrain: 40})
	b.teach("s", 39)
	before := b.memory.tenants["default"].find("").learner.Model()
	b.teach("t", 1)
	after := b.memory.tenants["default"].find("").learner.Model()
	shown := b.impression("x", "wordy", "right").Shown
	wrong, right := example(shown[0]), example(shown[1])
	gain := func() float64 { return after.Linear(&right.Features) - after.Linear(&wrong.Features) }
	if was := before.Linear(&right.Features) - before.Linear(&wrong.Features); gain() < was+1 {
		t.Errorf("the margin went from %v to %v", was, gain())
	}
}

// What was known of use came of the same question in part: it is left out of what small
// steps learn from.
func TestSmallStepsSeeNothingOfUse(t *testing.T) {
	b := newBench(t, Config{})
	imp := b.impression("s", "wordy", "right")
	for i := range imp.Shown {
		for f := range imp.Shown[i].Features {
			imp.Shown[i].Features[f] = 1
		}
	}
	pairs := Pairs(imp, []schema.Feedback{b.feedback("s", "right", schema.Called)})
	if len(pairs) == 0 {
		t.Fatal("no pairs")
	}
	for f := range fusion.FeatureCount {
		want := 1.
		if f.Usage() {
			want = 0
		}
		if p := pairs[0]; p.Better.Features[f] != want || p.Worse.Features[f] != want {
			t.Errorf("%s is %v and %v, want %v", f, p.Better.Features[f], p.Worse.Features[f], want)
		}
	}
}

// What is learned anew from has the features of tools for the whole query: not those of a
// step, which are of another text, nor those that an agent has of the tool it was shown for.
func TestSamplesAreOfTheWholeQuery(t *testing.T) {
	b := newBench(t, Config{})
	stepwise := b.asking("steps", 0, "a", "b", "c")
	for i := range stepwise.Shown {
		stepwise.Shown[i].Step = 1 + i%2
		stepwise.Shown[i].Features[fusion.QueryLexicalFlat] = 99
	}
	whole := b.asking("whole", 0, "b", "owner", "a")
	whole.Shown[1].Kind = schema.KindAgent
	later := b.asking("again", 0, "a")
	later.Shown[0].Step = 2
	later.Shown[0].Features[fusion.QueryLexicalFlat] = 99
	b.must(b.show(stepwise, whole, later))
	b.must(b.report(b.feedback("steps", "a", schema.Succeeded), b.feedback("whole", "b", schema.Succeeded), b.feedback("whole", "owner", schema.Called), b.feedback("again", "a", schema.Called)))
	b.advance()
	samples := b.memory.tenants["default"].samples("m", b.cfg.HalfLife)
	if len(samples) != 1 {
		t.Fatalf("%d samples", len(samples))
	}
	got := map[string]float64{}
	for _, c := range samples[0].Candidates {
		got[c.ID] = c.Features[fusion.QueryLexicalFlat]
	}
	if want := map[string]float64{"b": 10, "a": 8}; !maps.Equal(got, want) {
		t.Errorf("candidates %v, want %v", got, want)
	}
}
