package trainer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/toolstream/toolstream/pkg/schema"
)

// tried are searches in which the second result is used, and which the weights on
// trial, if there are any, would have ranked like that.
func (b *bench) tried(prefix string, n int, ranks ...int) {
	b.t.Helper()
	for i := range n {
		imp := b.impression(fmt.Sprint(prefix, i), "wordy", "right", "other")
		if c := b.onTrial(); c != nil {
			imp.Shadow = &schema.Shadow{Weights: c.Version, Ranks: ranks}
		}
		b.must(b.show(imp))
		b.must(b.report(b.feedback(imp.SearchID, "right", schema.Succeeded)))
	}
	b.advance()
}

// onTrial returns the weights that searchers find on trial.
func (b *bench) onTrial() *schema.Weights {
	b.t.Helper()
	if raw, _ := b.store.Get(context.Background(), "weights.shadow.default"); raw == nil {
		return nil
	}
	w, _ := b.store.weights(b.t, "weights.shadow.default")
	return &w
}

func (b *bench) standing(version string) Standing {
	b.t.Helper()
	kept, _, err := b.Versions(context.Background(), "default")
	b.must(err)
	for _, k := range kept {
		if k.Version == version {
			return k.State
		}
	}
	return ""
}

func wary() Config {
	cfg := quick()
	cfg.Sample, cfg.Shadow = 10, 24*time.Hour
	return cfg
}

func TestLearnedWeightsAreTriedBesideTheLiveOnesFirst(t *testing.T) {
	b := newBench(t, wary())
	b.tried("before", 40)
	w := b.onTrial()
	if live, _ := b.Live("default"); w == nil || w.Parent != "builtin" || live.Version != "builtin" || b.standing(w.Version) != Shadow {
		t.Fatalf("%+v is on trial, %s live", w, live.Version)
	}
	b.tried("few", 5, 2, 1, 3)
	b.restart(wary())
	if live, _ := b.Live("default"); live.Version != "builtin" {
		t.Fatalf("%s is live after five searches", live.Version)
	}
	b.tried("more", 5, 2, 1, 3)
	live, ranks := b.store.weights(t, "weights.live.default")
	if live.Hash != w.Hash || ranks.Version != w.Version || b.onTrial() != nil || b.standing(w.Version) != Live {
		t.Fatalf("%s is live, %+v on trial", live.Version, b.onTrial())
	}
	if f := b.History("default", live).Shadow; f == nil || f.Searches != 10 || math.Abs(f.Gain-(1-1/math.Log2(3))) > 1e-9 {
		t.Errorf("figures %+v", f)
	}
}

func TestWeightsThatLoseInTheShadowAreDropped(t *testing.T) {
	b := newBench(t, wary())
	b.tried("before", 40)
	w := b.onTrial()
	b.tried("worse", 10, 1, 3, 2)
	if live, _ := b.Live("default"); live.Version != "builtin" || b.onTrial() != nil || b.standing(w.Version) != Refused {
		t.Fatalf("%s is live, %+v on trial, %s is %s", live.Version, b.onTrial(), w.Version, b.standing(w.Version))
	}
	b.tried("again", 40, 1, 2, 3)
	if next := b.onTrial(); next == nil || next.Epoch != 2 {
		t.Fatalf("%+v is on trial", next)
	}
}

// Where nobody searches, or none who searches scores them, they need not wait for
// ever.
func TestATrialEnds(t *testing.T) {
	b := newBench(t, wary())
	b.tried("before", 40)
	w := b.onTrial()
	b.now = b.now.Add(25 * time.Hour)
	b.advance()
	if live, _ := b.Live("default"); live.Version != w.Version || b.onTrial() != nil {
		t.Fatalf("%s is live, %+v on trial", live.Version, b.onTrial())
	}
}

func TestWhatIsForcedInEndsATrial(t *testing.T) {
	ctx := context.Background()
	for name, force := range map[string]func(b *bench) error{
		"promote": func(b *bench) error { _, err := b.Promote(ctx, "default", "heuristic"); return err },
		"pin":     func(b *bench) error { _, err := b.Pin(ctx, "default", "live"); return err },
	} {
		b := newBench(t, wary())
		b.tried("before", 40)
		w := b.onTrial()
		b.must(force(b))
		b.advance()
		if b.onTrial() != nil || b.standing(w.Version) != Refused {
			t.Errorf("%s: %+v is on trial, %s is %s", name, b.onTrial(), w.Version, b.standing(w.Version))
		}
	}
}

// What is on trial is as safe from a store that is down, or loses it, as what is
// live.
func TestATrialOutlivesTheStore(t *testing.T) {
	b := newBench(t, wary())
	b.tried("before", 39)
	b.store.down = errors.New("down")
	b.must(b.show(b.impression("last", "wordy", "right", "other")))
	b.must(b.report(b.feedback("last", "right", schema.Succeeded)))
	b.now = b.now.Add(time.Minute)
	_ = b.Advance(context.Background())
	b.store.down = nil
	b.advance()
	w := b.onTrial()
	if w == nil {
		t.Fatal("nothing is on trial")
	}
	clear(b.store.values)
	b.restart(wary())
	b.advance()
	if again := b.onTrial(); again == nil || again.Hash != w.Hash {
		t.Fatalf("%+v is on trial", again)
	}
	b.state = newRecords() // a trainer that knows of no trial ends it
	b.restart(wary())
	b.tried("new", 1)
	b.advance()
	if b.onTrial() != nil {
		t.Error("a trial that nobody knows of goes on")
	}
}

func TestGainOfATrial(t *testing.T) {
	shown := func(scores ...float64) []schema.Shown {
		out := make([]schema.Shown, len(scores))
		for i, s := range scores {
			out[i].Score = s
		}
		return out
	}
	dcg := func(rank float64) float64 { return 1 / math.Log2(1+rank) }
	for name, c := range map[string]struct {
		rec  searchRecord
		want float64
		ok   bool
	}{
		"as before":                {searchRecord{Shown: shown(3, 2, 1), Shadow: &schema.Shadow{Ranks: []int{1, 2, 3}}, Used: []int{1}}, 0, true},
		"first now":                {searchRecord{Shown: shown(3, 2, 1), Shadow: &schema.Shadow{Ranks: []int{7, 2, 9}}, Used: []int{1}}, 1 - dcg(2), true},
		"only among what is known": {searchRecord{Shown: shown(3, 2, 1), Shadow: &schema.Shadow{Ranks: []int{20, 30, 40}}, Used: []int{2}}, 0, true},
		"not scored is last":       {searchRecord{Shown: shown(3, 2, 1), Shadow: &schema.Shadow{Ranks: []int{0, 5, 6}}, Used: []int{0}}, dcg(3) - 1, true},
		"reordered, not rescored":  {searchRecord{Shown: shown(1, 3, 2), Shadow: &schema.Shadow{Ranks: []int{3, 1, 2}}, Used: []int{0}}, 0, true},
		"the deeper counts more":   {searchRecord{Shown: shown(2, 1), Shadow: &schema.Shadow{Ranks: []int{2, 1}}, Used: []int{0, 1}}, (1*(dcg(2)-1) + 2*(1-dcg(2))) / 3, true},
		"learned from already":     {searchRecord{Shown: shown(2, 1), Shadow: &schema.Shadow{Ranks: []int{2, 1}}, Used: []int{0}, Paired: 1}, 0, false},
		"failed":                   {searchRecord{Shown: shown(2, 1), Shadow: &schema.Shadow{Ranks: []int{2, 1}}, Used: []int{0}, Rejected: []int{0}}, 0, false},
		"not scored":               {searchRecord{Shown: shown(2, 1), Used: []int{0}}, 0, false},
		"too few ranks":            {searchRecord{Shown: shown(2, 1), Shadow: &schema.Shadow{Ranks: []int{1}}, Used: []int{0}}, 0, false},
	} {
		if got, ok := c.rec.gain(); ok != c.ok || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, %t, want %v", name, got, ok, c.want)
		}
	}
}
