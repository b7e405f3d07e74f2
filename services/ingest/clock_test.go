package ingest

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/pkg/events"
)

func TestClockStaysAboveWhatItObserved(t *testing.T) {
	for name, tc := range map[string]struct{ observed, least uint64 }{
		"ahead of the wall":    {1 << 52, 1<<52 + 1},
		"behind the wall":      {5, 0},
		"beyond any revision":  {1 << 60, 0},
		"not a wall clock yet": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWall()
			c := newClock(w.now)
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
	c := newClock(w.now)
	first := c.Next()
	w.jump(260 * 365 * 24 * time.Hour)
	if second := c.Next(); second != first+1 {
		t.Fatalf("in the year %d: %d after %d", w.now().Year(), second, first)
	}
}

func TestClockIsMonotonicWhateverTheWallDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWall()
		c := newClock(w.now)
		var highest uint64
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			w.jump(time.Duration(rapid.Int64Range(-1e12, 1e12).Draw(t, "jump")) * time.Microsecond)
			if rapid.Bool().Draw(t, "observe") {
				seen := rapid.Uint64Range(0, events.MaxRevision/2).Draw(t, "seen")
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
