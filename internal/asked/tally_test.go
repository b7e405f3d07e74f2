package asked

import (
	"math"
	"testing"
	"time"
)

// Counts that were kept apart come to what they would together, whichever is the newer.
func TestTalliesAddUp(t *testing.T) {
	const halfLife = time.Hour
	begin := time.Unix(0, 0)
	var together, early, late Tally
	for i := range 6 {
		at := begin.Add(time.Duration(i) * 20 * time.Minute)
		together = together.Add(at, halfLife)
		if i < 3 {
			early = early.Add(at, halfLife)
		} else {
			late = late.Add(at, halfLife)
		}
	}
	for _, sum := range []Tally{early.Plus(late, halfLife), late.Plus(early, halfLife), together.Plus(Tally{}, halfLife), Tally{}.Plus(together, halfLife)} {
		if math.Abs(sum.Count-together.Count) > 1e-9 || !sum.At.Equal(together.At) {
			t.Errorf("%+v, counted together %+v", sum, together)
		}
	}
}
