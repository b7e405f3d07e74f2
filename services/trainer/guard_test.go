package trainer

import (
	"context"
	"fmt"
	"maps"
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
		search := fmt.Sprintf("%s%d", prefix, i)
		imp := b.impression(search, "wordy", "right", "other")
		f := b.feedback(search, imp.Shown[position].ID, schema.Called)
		f.Client = fmt.Sprint("client-", i%clients)
		b.must(b.show(imp))
		b.must(b.report(f))
	}
	b.advance()
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

// However many have reported, somebody new is heard: who reported longest ago is
// forgotten.
func TestSomebodyNewIsAlwaysHeard(t *testing.T) {
	b := newBench(t, Config{})
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
			a.admit(m, f, 0)
		}
		return nil
	}))
	for i := range more {
		report(maxClients + i)
	}
	if b.outcome(accepted) != more {
		t.Errorf("%d of %d new clients are heard", b.outcome(accepted), more)
	}
	b.restart(Config{})
	report(maxClients + more)
	a, taken := b.memory.tenants["default"], 0
	for _, c := range a.clients {
		taken += c.Taken
	}
	_, first := a.clients["session-0"]
	_, last := a.clients[fmt.Sprint("session-", maxClients+more)]
	if len(a.clients) != maxClients || first || !last || taken != a.taken {
		t.Errorf("%d clients are known, the first %v, the last %v; %d events counted of %d", len(a.clients), first, last, a.taken, taken)
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
