package trainer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/training"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestTheLoopIsClosed(t *testing.T) {
	b := newBench(t, Config{})
	b.teach("s", 60)
	w := b.store.live(t, "default")
	if w.Epoch != 1 || !strings.HasPrefix(w.Version, "w1-") || w.Parent != "builtin" || w.Trained != 120 {
		t.Fatalf("%+v", w)
	}
	if kept, err := b.Version(t.Context(), "default", w.Version); err != nil || kept.Hash != w.Hash {
		t.Errorf("the live version is not kept under its name: %v", err)
	}
	shown := b.impression("x", "wordy", "right").Shown
	margin := func(w schema.Weights) float64 {
		m, err := fusion.ModelOf(w)
		b.must(err)
		wrong, right := example(shown[0]), example(shown[1])
		return m.Linear(&right.Features) - m.Linear(&wrong.Features)
	}
	if margin(w.Weights) <= margin(fusion.Builtin())+0.1 {
		t.Errorf("the margin went from %v to %v", margin(fusion.Builtin()), margin(w.Weights))
	}
	if u := b.store.usage(t, "default"); len(u.Prior) != 1 || u.Prior["right"] < 4 {
		t.Errorf("usage %v", u.Prior)
	}
	if h := b.History("default", w.Weights); h.CrossValidated == nil || h.CrossValidated.Gain <= 0 || h.From.IsZero() || h.To.Before(h.From) {
		t.Errorf("history %+v", h)
	}
}

func TestBelowMinPairsTheBuiltinWeightsServe(t *testing.T) {
	b := newBench(t, Config{MinPairs: 200})
	b.teach("s", 60)
	if w, _, err := b.Live("default"); err != nil || w.Version != "builtin" || b.store.live(t, "default").Epoch != 0 {
		t.Errorf("%s serves: %v", w.Version, err)
	}
	if b.store.usage(t, "default").Prior["right"] == 0 {
		t.Error("usage waits for pairs")
	}
}

// Weights that do not rank other queries better are not tried at all.
func TestWeightsThatProveNothingAreNotPublished(t *testing.T) {
	b := newBench(t, Config{})
	for i := range 60 {
		b.must(b.show(b.impression(fmt.Sprint("s", i), "first", "second", "third")))
		b.must(b.report(b.feedback(fmt.Sprint("s", i), "first", schema.Called)))
	}
	b.advance()
	if w := b.store.live(t, "default"); w.Epoch != 0 {
		t.Errorf("published %+v", w)
	}
}

func TestEveryModelHasItsOwnWeights(t *testing.T) {
	b := newBench(t, Config{Model: "m"})
	for i := range 60 {
		imp := b.impression(fmt.Sprint("s", i), "wordy", "right", "other")
		imp.Model = "another"
		b.must(b.show(imp))
		b.must(b.report(b.feedback(imp.SearchID, "right", schema.Called)))
	}
	b.advance()
	if w := b.store.live(t, schema.ModelOwner("default", "another")); w.Model != "another" {
		t.Errorf("%+v", w)
	}
	if w := b.store.live(t, schema.ModelOwner("default", "m")); w.Epoch != 0 {
		t.Errorf("weights of the other model: %+v", w)
	}
}

// tried is a bench with weights on trial, w.
func tried(t *testing.T, cfg Config) (b *bench, w schema.Weights) {
	cfg.Shadow, cfg.Sample = time.Hour, 10
	b = newBench(t, cfg)
	b.teach("s", 60)
	onTrial := b.memory.tenant("default").model("").Trial.Weights
	if onTrial == nil || b.store.live(t, "default").Epoch != 0 {
		t.Fatalf("on trial is %v, live %v", onTrial, b.store.live(t, "default").Version)
	}
	if e, err := b.store.Get(t.Context(), versionKey+"default."+onTrial.Version); err != nil || len(e.Value) == 0 {
		t.Fatalf("the version on trial is not kept: %v", err)
	}
	return b, *onTrial
}

// trial lets n searches find a tool of use. The weights on trial have learned to rank
// right first; the live ones rank wordy first.
func (b *bench) trial(n int, used string) {
	b.t.Helper()
	for i := range n {
		imp := b.impression(fmt.Sprint("trial", b.now.Unix(), "-", i), "wordy", "right", "other")
		b.must(b.show(imp))
		b.must(b.report(b.feedback(imp.SearchID, used, schema.Selected)))
	}
	b.advance()
}

func TestWeightsThatWinTheirTrialGoLive(t *testing.T) {
	b, w := tried(t, Config{})
	b.restart(b.cfg)
	b.trial(10, "right")
	if live := b.store.live(t, "default"); live.Version != w.Version {
		t.Errorf("live is %s, want %s", live.Version, w.Version)
	}
	if h := b.History("default", w); h.Status != Live || h.Shadow == nil || h.Shadow.Searches != 10 || h.Shadow.Gain <= 0 {
		t.Errorf("%+v", h)
	}
}

// While a trial goes on, and after it, the version tells how it came about, and what it
// does otherwise than its parent.
func TestATrialIsToldOfOverTime(t *testing.T) {
	b, w := tried(t, Config{})
	told := func() (KeptWeights, *ShadowTrial) {
		t.Helper()
		versions, _, err := b.Versions(t.Context(), "default")
		b.must(err)
		return versions[0], b.onTrial("default")
	}
	kept, shadow := told()
	if kept.Version != w.Version || kept.Status != Shadow || kept.History.Shadow != nil || kept.Trial != nil {
		t.Errorf("without searches: %+v", kept.History)
	}
	if want := (ShadowTrial{w.Version, w.Created, w.Created.Add(time.Hour), 10}); shadow == nil || *shadow != want {
		t.Errorf("on trial is %+v, want %+v", shadow, want)
	}
	if !slices.Contains(kept.Words, "the meaning of the description now counts") {
		t.Errorf("in words: %q", kept.Words)
	}
	began := b.now
	for range 3 {
		b.trial(2, "right") // two minutes each
	}
	kept, _ = told()
	if n := len(kept.Trial); n != 6 || !kept.Trial[0].Time.Equal(began) || !kept.Trial[5].Time.Equal(began.Add(4*time.Minute)) {
		t.Fatalf("the course is %+v", kept.Trial)
	}
	if last := kept.Trial[5]; kept.History.Shadow == nil || last.Figures != *kept.History.Shadow || last.Searches != 6 || last.Gain <= 0 {
		t.Errorf("it ends with %+v, the figures are %+v", last, kept.History.Shadow)
	}
	b.restart(b.cfg)
	b.trial(4, "right")
	kept, shadow = told()
	if kept.Status != Live || shadow != nil || len(kept.Trial) != 10 || kept.Trial[9].Searches != 10 {
		t.Errorf("after it: %+v, on trial is %v", kept.History, shadow)
	}
}

func TestTheCourseOfALongTrialIsThinned(t *testing.T) {
	var long trial
	for i := range maxGains {
		long.Gains = append(long.Gains, gain{At: time.Unix(int64(i), 0), Gain: float64(i)})
	}
	long.Gains[maxGains-1].At = time.Unix(0, 0) // reported late
	course := long.course()
	if n := len(course); n != maxPoints || course[n-1].Searches != maxGains || !course[n-1].Time.Equal(time.Unix(maxGains-2, 0)) {
		t.Errorf("%d points, the last is %+v", n, course[n-1])
	}
}

func TestWordsNeedTheParent(t *testing.T) {
	b := newBench(t, Config{Keep: 1})
	first, err := b.Promote(t.Context(), "default", "heuristic")
	b.must(err)
	if kept, err := b.kept(t.Context(), "default", first, nil); err != nil || !slices.Contains(kept.Words, "the words of the whole document no longer count") {
		t.Errorf("%q, %v", kept.Words, err)
	}
	orphan := first
	orphan.Parent = "w1-00000000"
	if kept, err := b.kept(t.Context(), "default", orphan, nil); err != nil || kept.Words == nil || len(kept.Words) > 0 {
		t.Errorf("%q, %v", kept.Words, err)
	}
	if kept, err := b.kept(t.Context(), "default", fusion.Builtin(), nil); err != nil || len(kept.Words) > 0 {
		t.Errorf("of the built-in weights: %q, %v", kept.Words, err)
	}
}

func TestWeightsThatLoseTheirTrialAreRefused(t *testing.T) {
	b, w := tried(t, Config{Refit: 60})
	b.trial(10, "wordy")
	if h := b.History("default", w); h.Status != Refused || h.Reason == "" || b.store.live(t, "default").Epoch != 0 {
		t.Errorf("%+v", h)
	}
}

func TestATrialEndsWhereNothingIsSearched(t *testing.T) {
	b, w := tried(t, Config{})
	b.now = b.now.Add(2 * time.Hour)
	b.advance()
	if live := b.store.live(t, "default"); live.Version != w.Version {
		t.Errorf("live is %s, want %s", live.Version, w.Version)
	}
}

func TestWhatIsPromotedEndsATrial(t *testing.T) {
	b, w := tried(t, Config{})
	if _, err := b.Promote(t.Context(), "default", "heuristic"); err != nil {
		t.Fatal(err)
	}
	if h := b.History("default", w); h.Status != Refused {
		t.Errorf("%+v", h)
	}
}

// Where every query wants a tool that no query wanted before, usage only stands in the
// way.
func TestUsageThatDoesHarmIsWithheld(t *testing.T) {
	b := newBench(t, Config{Model: "m", Clusters: 200})
	for i := range 128 {
		v := make([]float32, 32)
		v[i%32], v[(i+1)%32] = 1, 0.1+float32(i/32)
		imp := b.impression(fmt.Sprint("s", i), fmt.Sprint("t", i), fmt.Sprint("t", i+1), "none")
		for j := range imp.Shown {
			imp.Shown[j].Features = make([]float64, fusion.FeatureCount)
			imp.Shown[j].Features[fusion.QueryLexicalFlat] = 10 - 0.01*float64(j)
		}
		imp.Model, imp.Vector = "m", schema.NewDirection(v)
		b.must(b.show(imp))
		b.must(b.report(b.feedback(imp.SearchID, fmt.Sprint("t", i), schema.Called)))
	}
	b.advance()
	if u := b.store.usage(t, "default"); !u.Withheld || u.Prior["t1"] == 0 {
		t.Errorf("withheld: %v, usage of %d tools", u.Withheld, len(u.Prior))
	}
}

func TestSamplesOfRecordedSearches(t *testing.T) {
	b := newBench(t, Config{})
	i := b.asking("s", 1, "a", "b", "c")
	got := Samples([]schema.Impression{i, b.asking("silent", 2, "a")}, []schema.Feedback{
		{SearchID: "s", ToolID: "b", Event: schema.Called}, {SearchID: "s", ToolID: "z", Event: schema.Called}, {SearchID: "elsewhere", ToolID: "a", Event: schema.Called},
	})
	if len(got) != 1 || len(got[0].Candidates) != 3 || !slices.Equal(got[0].Relevant, []string{"b"}) {
		t.Fatalf("%+v", got)
	}
	if f, err := (training.Config{}).Fit(t.Context(), builtin("m"), got); err != nil || f.Pairs != 2 {
		t.Errorf("%d pairs: %v", f.Pairs, err)
	}
}

// A fit that is interrupted is made again.
func TestAFitThatIsInterruptedIsMadeAgain(t *testing.T) {
	b := newBench(t, Config{})
	broken := errors.New("disk full")
	b.must(b.Advance(t.Context()))
	for i := range 60 {
		search := fmt.Sprint("s", i)
		b.must(b.show(b.impression(search, "wordy", "right", "other")))
		b.must(b.report(b.feedback(search, "right", schema.Succeeded)))
	}
	b.state.fail = func() error { return broken }
	if err := b.Advance(t.Context()); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	b.state.fail = nil
	b.advance()
	if w := b.store.live(t, "default"); w.Epoch != 1 {
		t.Errorf("%+v", w)
	}
}
