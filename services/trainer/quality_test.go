package trainer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/pkg/schema"
)

// serve lets n searches by the live weights pass, of which a share is used.
func (b *bench) serve(prefix string, n int, share float64) {
	b.t.Helper()
	live, err := b.Live("default")
	b.must(err)
	for i := range n {
		imp := b.impression(fmt.Sprint(prefix, i), "wordy", "right", "other")
		imp.Weights = live.Version
		b.must(b.show(imp))
		if float64(i%100) < 100*share {
			b.must(b.report(b.feedback(imp.SearchID, "right", schema.Selected)))
		}
	}
	b.now = b.now.Add(15 * time.Minute)
	b.must(b.Advance(context.Background()))
}

// pace lets n searches pass, so many a minute, of which a share is used.
func (b *bench) pace(prefix string, n, perMinute int, share float64) {
	b.t.Helper()
	live, err := b.Live("default")
	b.must(err)
	for i := range n {
		imp := b.impression(fmt.Sprint(prefix, i), "wordy", "right", "other")
		imp.Weights = live.Version
		b.must(b.show(imp))
		if float64(i%100) < 100*share {
			b.must(b.report(b.feedback(imp.SearchID, "right", schema.Selected)))
		}
		b.now = b.now.Add(time.Minute / time.Duration(perMinute))
		if i%perMinute == 0 {
			b.must(b.Advance(context.Background()))
		}
	}
}

// However much is searched, and right after a restart, it is known what led to a use
// before.
func TestBusyTenantsAndNewProcessesKnowWhatLedToAUse(t *testing.T) {
	for _, c := range []struct {
		perMinute int
		restart   bool
	}{{10, false}, {30, false}, {100, false}, {10, true}} {
		cfg := Config{MinPairs: 1 << 20}
		b := newBench(t, cfg)
		b.teach("first", 4)
		b.pace("good", 60*c.perMinute, c.perMinute, 0.6)
		if c.restart {
			b.restart(cfg)
		}
		_, err := b.Promote(context.Background(), "default", "builtin")
		b.must(err)
		forced, err := b.Live("default")
		b.must(err)
		b.pace("none", 60*c.perMinute, c.perMinute, 0)
		if live, _ := b.Live("default"); live.Version == forced.Version {
			t.Errorf("%+v: weights that lead to no use stay live", c)
		}
	}
}

// Where nothing of use is shown nobody says so: that there are no uses any more is
// enough.
func TestWeightsThatNobodyFindsAnythingByAreRolledBack(t *testing.T) {
	cfg := quick()
	cfg.Sample = 20
	b := newBench(t, cfg)
	b.teach("first", 4)
	b.serve("good", 100, 0.6)
	good, err := b.Live("default")
	b.must(err)
	poison := b.poison()
	b.serve("early", 10, 0)
	if live, _ := b.Live("default"); live.Version != poison.Version {
		t.Fatalf("rolled back after ten searches: %s", live.Source)
	}
	b.restart(cfg)
	b.serve("none", 60, 0)
	live, err := b.Live("default")
	b.must(err)
	if !strings.Contains(live.Source, "0 of 70 searches") || !sameContent(t, live, good) {
		t.Fatalf("%s is live: %s", live.Version, live.Source)
	}
	if h := b.History("default", poison); h.State != RolledBack || h.Reason == "" || h.Since.IsZero() {
		t.Errorf("%+v", h)
	}
	b.serve("after", 100, 0.1) // nothing before it is known to be better
	if again, _ := b.Live("default"); again.Version != live.Version {
		t.Errorf("%s is live: %s", again.Version, again.Source)
	}
}

// A change of luck is no reason to go back, nor are searches that may yet be used.
func TestWeightsThatServeAsWellStay(t *testing.T) {
	b := newBench(t, Config{MinPairs: 1 << 20})
	b.teach("first", 4)
	b.serve("good", 100, 0.6)
	second, err := b.Promote(context.Background(), "default", "builtin")
	b.must(err)
	b.serve("less", 60, 0.45)
	for i := range 100 {
		imp := b.impression(fmt.Sprint("now", i), "wordy", "right", "other")
		imp.Weights = second.Version
		b.must(b.show(imp))
	}
	b.must(b.Advance(context.Background()))
	if live, _ := b.Live("default"); live.Version != second.Version {
		t.Errorf("%s is live: %s", live.Version, live.Source)
	}
}

func TestPinnedWeightsStay(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, quick())
	w := published(b, 2)
	pinned, err := b.Pin(ctx, "default", w[0].Version)
	if err != nil || !sameContent(t, pinned, w[0]) || pinned.Epoch != 3 || !b.Pinned("default") {
		t.Fatalf("%+v, %v", pinned, err)
	}
	b.restart(quick())
	b.teach("more", 40)
	if _, err := b.Promote(ctx, "default", w[1].Version); !errors.Is(err, ErrPinned) {
		t.Errorf("promoted: %v", err)
	}
	if _, err := b.Rollback(ctx, "default"); !errors.Is(err, ErrPinned) {
		t.Errorf("rolled back: %v", err)
	}
	if live, _ := b.Live("default"); live.Version != pinned.Version {
		t.Errorf("%s follows pinned weights", live.Version)
	}
	if got, err := b.Unpin(t.Context(), "default"); err != nil || got.Version != pinned.Version || b.Pinned("default") {
		t.Fatalf("%+v, %v", got, err)
	}
	b.teach("after", 4)
	if live, _ := b.Live("default"); live.Parent != pinned.Version {
		t.Errorf("nothing follows: %+v", live)
	}
	if b.Pinned("other") {
		t.Error("another tenant's are pinned")
	}
}

func TestVersionsHaveAHistory(t *testing.T) {
	b := newBench(t, quick())
	b.teach("a", 40)
	b.teach("b", 40)
	b.restart(quick())
	kept, damaged, err := b.Versions(context.Background(), "default")
	b.must(err)
	if len(kept) != 3 || len(damaged) != 0 || kept[0].State != Live || kept[1].State != Replaced || kept[2].State != Kept {
		t.Fatalf("%+v", kept)
	}
	for _, k := range kept[:2] {
		if k.Recent == nil || k.Recent.Searches == 0 || k.Recent.Gain-k.Recent.Margin <= 0 || k.From.IsZero() || k.To.Before(k.From) || k.Held == nil || k.Held.Gain < 0 {
			t.Errorf("%s: %+v, recent %+v, held %+v", k.Version, k.History, k.Recent, k.Held)
		}
	}
	b.store.values["weights.version.default."+kept[1].Version] = []byte(`{"schema":1,`)
	kept, damaged, err = b.Versions(context.Background(), "default")
	if err != nil || len(kept) != 2 || len(damaged) != 1 || damaged[0].Reason == "" {
		t.Errorf("%d kept, %+v damaged, %v", len(kept), damaged, err)
	}
	if _, err := b.Promote(context.Background(), "default", damaged[0].Version); !errors.Is(err, ErrUnknownVersion) {
		t.Errorf("a damaged version was promoted: %v", err)
	}
}

// A search of which what was reported does not count says nothing of the weights: who
// reports more than others would take good ones back by that.
func TestSearchesOfWhoIsNotHeardSayNothingOfTheWeights(t *testing.T) {
	b := newBench(t, Config{MinPairs: 1 << 20, Sample: 20})
	used := func(prefix string, n int, client func(i int) string) {
		t.Helper()
		live, err := b.Live("default")
		b.must(err)
		for i := range n {
			imp := b.impression(fmt.Sprint(prefix, i), "wordy", "right", "other")
			imp.Weights = live.Version
			f := b.feedback(imp.SearchID, "wordy", schema.Succeeded)
			f.Client = client(i)
			b.must(b.show(imp))
			b.must(b.report(f))
		}
		b.now = b.now.Add(15 * time.Minute)
		b.must(b.Advance(t.Context()))
	}
	everybody := func(i int) string { return fmt.Sprint("client", i%10) }
	_, err := b.Promote(t.Context(), "default", "builtin")
	b.must(err)
	used("good", 60, everybody)
	promoted, err := b.Promote(t.Context(), "default", "builtin") // the same under a new name
	b.must(err)
	used("as good", 20, everybody)
	used("much", 140, func(int) string { return "one" })
	if b.outcome(capped) < 50 {
		t.Fatalf("%d events did not count: the test shows nothing", b.outcome(capped))
	}
	if live, _ := b.Live("default"); live.Version != promoted.Version {
		t.Errorf("%s is live: %s", live.Version, live.Source)
	}
}

// A pin is the store's: it holds for whoever trains next, and is lifted for all.
func TestAPinOutlivesTheStateOfTheTrainer(t *testing.T) {
	ctx := t.Context()
	b := newBench(t, quick())
	w := published(b, 2)
	pinned, err := b.Pin(ctx, "default", w[0].Version)
	b.must(err)
	lost := b.state
	b.state = newRecords()
	b.restart(quick())
	b.teach("more", 40)
	if live, _ := b.Live("default"); live.Version != pinned.Version || !b.Pinned("default") {
		t.Fatalf("%s follows what was pinned", live.Version)
	}
	_, err = b.Unpin(ctx, "default")
	b.must(err)
	b.state = lost
	b.restart(quick())
	b.must(b.Advance(ctx))
	if b.Pinned("default") {
		t.Error("a pin that was lifted is back")
	}
	// Of an earlier release nothing is in the store.
	_, err = b.Pin(ctx, "default", "live")
	b.must(err)
	b.must(b.store.Delete(ctx, "weights.pinned.default"))
	b.restart(quick())
	b.must(b.Advance(ctx))
	b.state = newRecords()
	b.restart(quick())
	b.must(b.Advance(ctx))
	if !b.Pinned("default") {
		t.Error("what was pinned before pins were stored is not")
	}
	b.store.down = errors.New("down")
	if _, err := b.Unpin(ctx, "default"); err == nil || !b.Pinned("default") {
		t.Errorf("lifted without the store: %v", err)
	}
}
