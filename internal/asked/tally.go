package asked

import (
	"math"
	"time"
)

// Tally is a count that halves with every half-life. The zero value counts
// nothing.
type Tally struct {
	Count float64   `json:"n"` // as of At
	At    time.Time `json:"t"` // of the newest that was counted
}

// Negligible is the count below which a tally is forgotten.
const Negligible = 0.01

// Add counts one more at that time, in whatever order the times come.
func (t Tally) Add(at time.Time, halfLife time.Duration) Tally {
	if at.After(t.At) {
		return Tally{Count: t.Decayed(at, halfLife) + 1, At: at}
	}
	t.Count += fade(t.At.Sub(at), halfLife)
	return t
}

// Until returns the count as of then at the latest: what a clock counted that was ahead
// would not fade until that time came, and what came after would hardly count beside it.
func (t Tally) Until(then time.Time) Tally {
	if t.At.After(then) {
		t.At = then
	}
	return t
}

// Plus counts what another tally has, too.
func (t Tally) Plus(other Tally, halfLife time.Duration) Tally {
	if other.At.After(t.At) {
		t, other = other, t
	}
	t.Count += other.Decayed(t.At, halfLife)
	return t
}

// Decayed returns the count as of then.
func (t Tally) Decayed(then time.Time, halfLife time.Duration) float64 {
	if t.Count == 0 {
		return 0
	}
	return t.Count * fade(then.Sub(t.At), halfLife)
}

func fade(age, halfLife time.Duration) float64 {
	return math.Exp2(-max(0, age.Seconds()) / halfLife.Seconds())
}
