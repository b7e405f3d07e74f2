package ingest

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/stream/streamtest"
)

func TestClockFollowsTheWallAndNeverGoesBack(t *testing.T) {
	w := newWall()
	c := NewClock(w.now)
	first := c.Next()
	if first != w.revision() {
		t.Fatalf("first revision %d, wall %d", first, w.revision())
	}
	w.jump(-time.Hour)
	if second := c.Next(); second != first+1 {
		t.Fatalf("after the wall went back: %d, want %d", second, first+1)
	}
	w.jump(2 * time.Hour)
	if third := c.Next(); third != w.revision() {
		t.Fatalf("after the wall went on: %d, want %d", third, w.revision())
	}
}

func TestClockStaysAboveWhatItObserved(t *testing.T) {
	for name, tc := range map[string]struct{ observed, least uint64 }{
		"ahead of the wall":    {1 << 52, 1<<52 + 1},
		"behind the wall":      {5, 0},
		"beyond any revision":  {1 << 60, 0},
		"not a wall clock yet": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWall()
			c := NewClock(w.now)
			c.Observe(tc.observed)
			want := max(tc.least, w.revision())
			if got := c.Next(); got != want {
				t.Fatalf("Next is %d, want %d", got, want)
			}
		})
	}
}

func TestClockIgnoresAWallBeyondAnyRevision(t *testing.T) {
	w := newWall()
	c := NewClock(w.now)
	first := c.Next()
	w.jump(260 * 365 * 24 * time.Hour)
	if second := c.Next(); second != first+1 {
		t.Fatalf("in the year %d: %d after %d", w.now().Year(), second, first)
	}
}

func TestClockIsMonotonicWhateverTheWallDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWall()
		c := NewClock(w.now)
		var highest uint64
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			w.jump(time.Duration(rapid.Int64Range(-1e12, 1e12).Draw(t, "jump")) * time.Microsecond)
			if rapid.Bool().Draw(t, "observe") {
				seen := rapid.Uint64Range(0, maxRevision/2).Draw(t, "seen")
				c.Observe(seen)
				highest = max(highest, seen)
			}
			next := c.Next()
			if next <= highest {
				t.Fatalf("Next is %d after %d", next, highest)
			}
			highest = next
		}
	})
}

func TestClockGivesEachRevisionOnce(t *testing.T) {
	c := NewClock(newWall().now)
	const callers, each = 8, 500
	got := make([][]uint64, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for range each {
				got[i] = append(got[i], c.Next())
			}
		})
	}
	wg.Wait()
	seen := map[uint64]bool{}
	for _, revisions := range got {
		for i, r := range revisions {
			if seen[r] || i > 0 && r <= revisions[i-1] {
				t.Fatalf("revision %d twice or out of order", r)
			}
			seen[r] = true
		}
	}
}

// The wall clock of a machine is set back by a day while the service is down.
func TestRevisionsRiseOverARestartWithAnEarlierClock(t *testing.T) {
	for _, shared := range []bool{false, true} {
		bus, wall := streamtest.NewPartitionedBus(3), newWall()
		s, stop := start(t, bus, Config{Shared: shared}, wall.now)
		if got := accept(t, s, doc("a", "x"), doc("b", "x")); got != "accepted accepted" {
			t.Fatal(got)
		}
		if got := accept(t, s, gone("b")); got != "accepted" {
			t.Fatal(got)
		}
		last := newest(t, bus, "b").Revision
		stop()
		wall.jump(-24 * time.Hour)
		s, stop = start(t, bus, Config{Shared: shared}, wall.now)
		if got := accept(t, s, doc("a", "y"), doc("b", "x"), doc("c", "x")); got != "accepted accepted accepted" {
			t.Fatal(got)
		}
		for _, id := range []string{"b", "c", "a"} {
			if c := newest(t, bus, id); c.Revision <= last {
				t.Errorf("shared %v: %s is at revision %d, and %d was given before", shared, id, c.Revision, last)
			}
		}
		stop()
	}
}
