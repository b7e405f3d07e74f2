package rerank

import (
	"math"
	"slices"
)

// Judged is a ranking of which it is known what an order of it is worth.
type Judged struct {
	Items  []Item // calibrated
	Needs  []Words
	Single float64               // probability that one owner answers the query, told without its labels
	Worth  func([]Place) float64 // of an order, more is better
}

func (c Config) worth(j *Judged) float64 {
	return j.Worth(c.Order(j.Items, j.Needs, c.Choose(j.Items, j.Single)))
}

// bound is one that is learned, and what is tried for it.
type bound struct {
	of     func(*Config) *float64
	values []float64
}

func learnedBounds() []bound {
	return []bound{
		{func(c *Config) *float64 { return &c.SingleFrom }, []float64{0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}},
		{func(c *Config) *float64 { return &c.OwnNeed }, []float64{1, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1}},
		{func(c *Config) *float64 { return &c.Clear }, []float64{0.7, 0.75, 0.8, 0.85, 0.9, 0.95}},
		{func(c *Config) *float64 { return &c.MultiTo }, []float64{0.3, 0.2, 0.1, 0.05, 0}},
		{func(c *Config) *float64 { return &c.Alike }, []float64{0.5, 0.6, 0.7, 0.8, 0.9}},
	}
}

// LearnBounds returns the bounds by which the rankings come out best, one after
// the other, as long as one of them gets better. A bound is moved only where the
// gain is larger than its standard error: on a few queries most values do about
// as well, and there the given one stays.
func LearnBounds(c Config, rankings []Judged) Config {
	now := c.worths(rankings)
	for moved := true; moved; {
		moved = false
		for _, b := range learnedBounds() {
			best, most := c, 0.0
			var worths []float64
			for _, value := range b.values {
				next := c
				*b.of(&next) = value
				if next.Validate() != nil {
					continue
				}
				trial := next.worths(rankings)
				if gain, sure := gainOf(now, trial); sure && gain > most {
					best, most, worths = next, gain, trial
				}
			}
			if most > 0 {
				c, now, moved = best, worths, true
			}
		}
	}
	return c
}

func (c Config) worths(rankings []Judged) []float64 {
	out := make([]float64, len(rankings))
	for i := range rankings {
		out[i] = c.worth(&rankings[i])
	}
	return out
}

// gainOf returns by how much the mean rises, and whether by more than the standard
// error of that.
func gainOf(before, after []float64) (gain float64, sure bool) {
	n := float64(len(before))
	var sum, squares float64
	for i := range before {
		d := after[i] - before[i]
		sum, squares = sum+d, squares+d*d
	}
	if n < 2 {
		return 0, false
	}
	gain = sum / n
	return gain, gain > math.Sqrt(max(0, squares/n-gain*gain)/(n-1)) && !slices.Equal(before, after)
}
