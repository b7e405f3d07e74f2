package trainer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/trainer/fitting"
)

func TestFeedbackMakesWeightsThatRankBetter(t *testing.T) {
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
		m := check.Value(fusion.ModelOf(w))(t)
		wrong, right := example(shown[0]), example(shown[1])
		return m.Linear(&right.Features) - m.Linear(&wrong.Features)
	}
	if margin(w.Weights) <= margin(fusion.Builtin())+0.1 {
		t.Errorf("the margin went from %v to %v", margin(fusion.Builtin()), margin(w.Weights))
	}
	if u := b.store.usage(t, "default"); len(u.Prior) != 1 || u.Prior["right"] < 4 {
		t.Errorf("usage %v", u.Prior)
	}
	if h := b.history(w.Weights); h.CrossValidated == nil || h.CrossValidated.Gain <= 0 || h.From.IsZero() || h.To.Before(h.From) {
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

func TestWordsNeedTheParent(t *testing.T) {
	b := newBench(t, Config{Keep: 1})
	first := check.Value(b.Promote(t.Context(), "default", "heuristic"))(t)
	if kept, err := b.describe(t.Context(), "default", first, nil); err != nil || !slices.Contains(kept.Words, "the words of the whole document no longer count") {
		t.Errorf("%q, %v", kept.Words, err)
	}
	orphan := first
	orphan.Parent = "w1-00000000"
	if kept, err := b.describe(t.Context(), "default", orphan, nil); err != nil || kept.Words == nil || len(kept.Words) > 0 {
		t.Errorf("%q, %v", kept.Words, err)
	}
	if kept, err := b.describe(t.Context(), "default", fusion.Builtin(), nil); err != nil || len(kept.Words) > 0 {
		t.Errorf("of the built-in weights: %q, %v", kept.Words, err)
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
	if u := b.published(); !u.Withheld || u.Prior["t1"] == 0 {
		t.Errorf("withheld: %v, usage of %d tools", u.Withheld, len(u.Prior))
	}
}

func TestSamplesOfRecordedSearches(t *testing.T) {
	b := newBench(t, Config{})
	i, offered := b.asking("s", 1, "a", "b", "c"), b.asking("offered", 3, "a", "b")
	offered.Shown[0].Also = []schema.Offer{{ID: "other", Provider: "q"}}
	got := Samples([]schema.Impression{i, b.asking("silent", 2, "a"), offered}, []schema.Feedback{
		{SearchID: "s", ToolID: "b", Event: schema.Called}, {SearchID: "s", ToolID: "z", Event: schema.Called}, {SearchID: "elsewhere", ToolID: "a", Event: schema.Called},
		{SearchID: "offered", ToolID: "other", Event: schema.Called},
	})
	if len(got) != 2 || len(got[0].Candidates) != 3 || !slices.Equal(got[0].Relevant, []string{"b"}) || !slices.Equal(got[1].Relevant, []string{"other"}) {
		t.Fatalf("%+v", got)
	}
	if f, err := (fitting.Config{}).Fit(t.Context(), builtin("m"), got[:1]); err != nil || f.Pairs != 2 {
		t.Errorf("%d pairs: %v", f.Pairs, err)
	}
}

// A fit that is interrupted is made again.
func TestAFitThatIsInterruptedIsMadeAgain(t *testing.T) {
	b := newBench(t, Config{})
	broken := errors.New("disk full")
	b.must(b.Advance(t.Context()))
	b.tell("s", 60)
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
