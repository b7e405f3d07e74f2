package trainer

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// click runs n searches, each by a client of its own out of as many, of which the
// result at that position is called.
func (b *bench) click(prefix string, n, clients, position int) {
	b.t.Helper()
	for i := range n {
		b.clickOne(fmt.Sprintf("%s%d", prefix, i), fmt.Sprint("client-", i%clients), position)
	}
	b.advance()
}

// clickAs runs n searches of one client.
func (b *bench) clickAs(prefix, client string, n, position int) {
	b.t.Helper()
	for i := range n {
		b.clickOne(fmt.Sprintf("%s%d", prefix, i), client, position)
	}
	b.advance()
}

func (b *bench) clickOne(search, client string, position int) {
	b.t.Helper()
	imp := b.impression(search, "wordy", "right", "other")
	f := b.feedback(search, imp.Shown[position].ID, schema.Called)
	f.Client = client
	b.must(b.show(imp))
	b.must(b.report(f))
}

// What nobody is better served by does not go live, however much comes of it.
func TestWeightsThatProveNothingAreNotPublished(t *testing.T) {
	b := newBench(t, Config{MinPairs: 8, Learn: fusion.LearnConfig{Batch: 4}})
	for i := range 22 { // as often as somebody looks there, whatever stands there
		b.click(fmt.Sprint("s", i, "-"), 10, 10, []int{0, 1, 0, 2, 0, 1, 0, 0, 2, 1, 0}[i%11])
	}
	if live, err := b.Live("default"); err != nil || live.Version != fusion.BuiltinName {
		t.Errorf("%s is live, %v", live.Version, err)
	}
}

// poison forces weights in that rank the other way round.
func (b *bench) poison() schema.Weights {
	b.t.Helper()
	live, err := b.Live("default")
	b.must(err)
	live.Features = maps.Clone(live.Features)
	for name := range live.Features {
		live.Features[name] *= -1
	}
	live, err = fusion.Seal(live)
	b.must(err)
	live, err = b.Take(context.Background(), "default", live)
	b.must(err)
	return live
}

// Weights that are worse than those before them do not stay.
func TestPoisonedWeightsAreRolledBack(t *testing.T) {
	cfg := quick()
	cfg.Sample = 10
	b := newBench(t, cfg)
	b.teach("good", 40)
	good, err := b.Live("default")
	if err != nil || good.Version == fusion.BuiltinName {
		t.Fatalf("%+v, %v", good, err)
	}
	b.poison()
	b.teach("more", 40)
	live, err := b.Live("default")
	if err != nil || !strings.HasPrefix(live.Source, "rolled back by itself") || !sameContent(t, live, good) {
		t.Errorf("%+v is live, %v", live, err)
	}
}

// One who never stops counts no more than a few of the others do.
func TestAClientHasAShare(t *testing.T) {
	b := newBench(t, Config{})
	b.click("all", 200, 20, 1)
	b.click("one", 500, 1, 1)
	if got := b.outcome(capped); got < 450 {
		t.Errorf("%d of 500 events of one client did not count", got)
	}
	b.restart(Config{})
	b.click("again", 100, 1, 1)
	if got := b.outcome(capped); got < 99 {
		t.Errorf("after a restart %d of 100 did not count", got)
	}
}

// What counted fades, and who is gone has no say in what is fair: one who brings most of
// what is reported is heard again after a time.
func TestAShareIsOfWhatIsReportedNowadays(t *testing.T) {
	b := newBench(t, Config{HalfLife: time.Hour})
	b.click("once", 1, 1, 1)
	b.clickAs("busy", "busy-client", 30, 1)
	if got := b.outcome(capped); got != 30-leastClient {
		t.Fatalf("%d of 30 did not count beside one event of another client", got)
	}
	b.now = b.now.Add(time.Hour)
	b.clickAs("later", "busy-client", leastClient/2, 1)
	if got := b.outcome(capped); got != 30-leastClient {
		t.Errorf("%d of half as many as may count did not an hour later", got-(30-leastClient))
	}
	b.now = b.now.Add(time.Hour)
	b.clickAs("alone", "busy-client", 100, 1)
	if got := b.outcome(capped); got != 30-leastClient {
		t.Errorf("%d of 100 events of the only one who takes part did not count", got-(30-leastClient))
	}
}

// Who picks what nobody else does is not learned from.
func TestAClientWhoPicksTheLastIsNotLearnedFrom(t *testing.T) {
	b := newBench(t, Config{})
	b.click("all", 100, 10, 0)
	for i := range 40 {
		search := fmt.Sprint("worst", i)
		f := b.feedback(search, "other", schema.Called)
		f.Client = "worst"
		b.must(b.show(b.impression(search, "wordy", "right", "other")))
		b.must(b.report(f))
	}
	if got := b.outcome(capped); got < 25 {
		t.Errorf("%d of 40 did not count", got)
	}
}

// Clients who ask other things pick other ranks, and are heard for as long as they report;
// who comes to pick the last only is not, however long it picked others.
func TestHonestClientsStayHeard(t *testing.T) {
	const clients, rounds = 10, 600
	b := newBench(t, Config{})
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(search string, c, position int) {
		f := b.feedback(search, []string{"a", "b", "c", "d"}[position], schema.Called)
		f.Client = fmt.Sprint("client", c)
		b.must(b.show(b.impression(search, "a", "b", "c", "d")))
		b.must(b.report(f))
		b.now = b.now.Add(20 * time.Second)
	}
	for round := range rounds {
		for c := range clients {
			position := 0
			if rng.Float64() > 0.5+0.03*float64(c) {
				position = 1 + rng.IntN(2)
			}
			pick(fmt.Sprint("s", round, "-", c), c, position)
		}
	}
	if got := b.outcome(capped); got > 0 {
		t.Errorf("%d of %d events did not count", got, clients*rounds)
	}
	for i := range 200 {
		pick(fmt.Sprint("last", i), 0, 3)
	}
	if got := b.outcome(capped); got < 100 {
		t.Errorf("%d of 200 events of one who turned did not count", got)
	}
}

// However many have reported, somebody new is heard: who reported longest ago is
// forgotten.
func TestSomebodyNewIsAlwaysHeard(t *testing.T) {
	const fade = time.Hour
	b := newBench(t, Config{HalfLife: fade})
	b.must(b.show(b.impression("s", "a", "b")))
	const more = 5
	report := func(client int) {
		f := b.feedback("s", "a", schema.Called)
		f.ID, f.Client = fmt.Sprint("event-", client), fmt.Sprint("session-", client)
		b.now = b.now.Add(time.Millisecond)
		f.Time = b.now
		b.must(b.report(f))
	}
	b.must(b.change(func(m *memory) error {
		for i := range maxClients {
			a, f := m.tenant("default"), b.feedback("s", "a", schema.Called)
			f.Client = fmt.Sprint("session-", i)
			b.now = b.now.Add(time.Millisecond)
			f.Time = b.now
			a.admit(m, f, 0, fade)
		}
		return nil
	}))
	for i := range more {
		report(maxClients + i)
	}
	if b.outcome(accepted) != more {
		t.Errorf("%d of %d new clients are heard", b.outcome(accepted), more)
	}
	b.restart(Config{HalfLife: fade})
	report(maxClients + more)
	a, taken, active := b.memory.tenants["default"], 0., 0
	for _, c := range a.clients {
		taken += c.Taken.Decayed(b.now, fade)
		if c.Taken.Decayed(b.now, fade) >= takesPart {
			active++
		}
	}
	_, first := a.clients["session-0"]
	_, last := a.clients[fmt.Sprint("session-", maxClients+more)]
	if len(a.clients) != maxClients || first || !last || math.Abs(taken-a.taken.Decayed(b.now, fade)) > 1e-6 || active != a.active {
		t.Errorf("%d clients are known, the first %v, the last %v; %v events counted of %v, %d take part of %d", len(a.clients), first, last, a.taken, taken, a.active, active)
	}
}

// What is held out to judge by is of the newest searches: what is right changes.
func TestWhatIsHeldOutIsOfTheNewest(t *testing.T) {
	var held trial
	pair := func(x float64) []fusion.Pair {
		var p fusion.Pair
		p.Better.Features[0] = x
		return []fusion.Pair{p, {}}
	}
	for i := range 3 * maxHeld {
		held.hold(pair(float64(i)))
	}
	held.hold(nil)
	if n := len(held.Held); n != maxHeld || held.Held[0].Better.Features[0] != 2*maxHeld || held.Held[n-1].Better.Features[0] != 3*maxHeld-1 {
		t.Errorf("%d pairs, from %v", n, held.Held[0].Better.Features[0])
	}
}
