package rerank

import (
	"math"
	"math/rand/v2"
	"testing"
)

func set(words ...string) Words { return WordsOf(words) }

// bank says the first need whole and nothing of the second, which post says.
func TestSignalsByHand(t *testing.T) {
	items := []Item{
		{ID: "b1", Owner: "bank", Score: 40, Words: set("send", "money")},
		{ID: "p1", Owner: "post", Score: 30, Words: set("track", "parcel")},
		{ID: "b2", Owner: "bank", Score: 20, Words: set("money")},
		{ID: "solo", Score: 10, Words: set("time")},
	}
	s := SignalsOf(items, []Words{set("send", "money"), set("track", "parcel", "today")})
	for signal, want := range map[Signal]float64{
		Owners: 3, Second: 0.75, Third: 0.25, Mass: 0.6, Fifth: 0, Sibling: 0.5,
		Needs: 2, Length: math.Log(6), Covered: 0.4, Added: 0.4, AddedByAll: 0.4, CoveredPart: 0.5,
		NeedsOwned: 0.5, NeedOwners: 2, NeedGap: 2.0 / 3, NeedGapMean: 1.0 / 3,
	} {
		if math.Abs(s[signal]-want) > 1e-12 {
			t.Errorf("signal %d is %v, not %v", signal, s[signal], want)
		}
	}
	if s := SignalsOf(nil, nil); s != (Signals{}) {
		t.Errorf("signals of nothing: %v", s)
	}
}

// drawn returns examples in which one signal decides and another is noise.
func drawn(n int, seed uint64) []Example {
	rng := rand.New(rand.NewPCG(seed, 1))
	out := make([]Example, n)
	for i := range out {
		out[i].Single = i%3 == 0
		out[i].Signals[Sibling] = rng.NormFloat64()
		out[i].Signals[Mass] = 0.1 * rng.NormFloat64()
		if out[i].Single {
			out[i].Signals[Mass] += 0.5
		}
	}
	return out
}

func TestLearn(t *testing.T) {
	c, ok := Learn(drawn(300, 1))
	if !ok {
		t.Fatal("taught nothing")
	}
	right := 0
	for _, e := range drawn(300, 2) {
		if c.Probability(e.Signals) >= 0.5 == e.Single {
			right++
		}
	}
	if right < 290 {
		t.Errorf("%d of 300 right", right)
	}
	if c.Weights[Mass] < 10*math.Abs(c.Weights[Sibling]) || c.Weights[Needs] != 0 {
		t.Errorf("weights %v", c.Weights)
	}
	if _, ok := Learn(drawn(24, 1)); ok {
		t.Error("learned from eight examples of a kind")
	}
}

func TestColdStart(t *testing.T) {
	var concentrated, spread Signals
	concentrated[Mass], concentrated[Sibling], concentrated[Needs] = 0.5, 0.9, 2
	spread[Mass], spread[Sibling], spread[Needs] = 0.15, 0.3, 2
	c := ColdStart()
	if p, q := c.Probability(concentrated), c.Probability(spread); p < 0.7 || q > 0.3 {
		t.Errorf("concentrated %v, spread %v", p, q)
	}
}
