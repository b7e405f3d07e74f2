package trainer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestDuplicatesCountOnce(t *testing.T) {
	b := newBench(t, Config{})
	b.must(b.show(b.impression("s", "a", "b", "c")))
	b.must(b.show(b.impression("s", "z"))) // redelivered, and garbled
	named, again := b.feedback("s", "b", schema.Called), b.feedback("s", "c", schema.Called)
	named.ID, again.ID = "mine", "mine"
	unnamed := b.feedback("s", "b", schema.Succeeded)
	b.must(b.report(named, named, again, unnamed))
	b.must(b.report(unnamed))
	u := b.published()
	if len(u.Prior) != 1 || u.Prior["b"] < 0.69 || u.Prior["b"] > math.Ln2 {
		t.Errorf("usage %v, want log(2) of b alone", u.Prior)
	}
	if got := b.outcome(duplicate); got != 3 {
		t.Errorf("%d duplicates", got)
	}
}

func TestFeedbackMayComeFirst(t *testing.T) {
	b := newBench(t, Config{})
	f := b.feedback("s", "b", schema.Called)
	b.must(b.report(f, f))
	b.restart(Config{})
	b.must(b.show(b.impression("s", "a", "b")))
	b.advance()
	if b.store.usage(t, "default").Prior["b"] == 0 || b.state.count(keyWaiting) != 0 {
		t.Errorf("usage %v, %d events wait", b.store.usage(t, "default").Prior, b.state.count(keyWaiting))
	}
}

func TestRefusedFeedbackIsCountedAndHarmless(t *testing.T) {
	b := newBench(t, Config{Window: time.Hour})
	b.must(b.show(b.impression("s", "a", "b")))
	late, early, ahead := b.feedback("s", "a", schema.Called), b.feedback("s", "a", schema.Called), b.feedback("s", "a", schema.Called)
	early.Time = b.now.Add(-time.Hour)
	other := b.feedback("s", "z", schema.Called)
	b.now = b.now.Add(2 * time.Hour)
	late.Time = b.now
	b.must(b.report(late, early, other, schema.Feedback{Tenant: "default", SearchID: "s"}))
	ahead.Time = b.now.Add(time.Hour)
	b.must(b.report(ahead))
	nan := b.impression("n", "a")
	nan.Shown[0].Features[0] = math.NaN()
	b.must(b.show(nan))
	for outcome, want := range map[string]int{tooOld: 1, tooEarly: 1, notShown: 1, invalid: 1, future: 1, badImpression: 1, accepted: 0} {
		if got := b.outcome(outcome); got != want {
			t.Errorf("%s: %d, want %d", outcome, got, want)
		}
	}
}

// What came of a search does not depend on the order of the events.
func TestTheOrderOfEventsDoesNotMatter(t *testing.T) {
	var usages []string
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 1, 2, 0}, {2, 3, 0, 1}} {
		b := newBench(t, Config{Model: "m"})
		list := []schema.Feedback{
			b.feedback("s", "a", schema.Rejected), b.feedback("s", "b", schema.Called), b.feedback("s", "b", schema.Selected), b.feedback("r", "c", schema.Called),
		}
		b.must(b.show(b.asking("s", 1, "a", "b", "c"), b.asking("r", 1, "a", "b", "c")))
		for _, i := range order {
			b.must(b.report(list[i]))
		}
		u := b.published()
		usages = append(usages, fmt.Sprint(u.Prior, u.Asked, u.Came))
	}
	if usages[1] != usages[0] || usages[2] != usages[0] {
		t.Error(strings.Join(usages, "\n"))
	}
}

// Searches are forgotten after the window also where no feedback ever arrives.
func TestSearchesExpireWithoutFeedback(t *testing.T) {
	b := newBench(t, Config{Window: time.Hour})
	b.must(b.show(b.impression("s", "a", "b")))
	b.must(b.report(b.feedback("unknown", "a", schema.Called)))
	b.now = b.now.Add(2 * time.Hour)
	b.must(b.show(b.impression("new", "a", "b")))
	b.advance()
	if b.state.count(keySearch) != 1 || b.state.count(keyWaiting) != 0 || b.outcome(unknownSearch) != 1 {
		t.Errorf("%d searches, %d events wait, %d given up", b.state.count(keySearch), b.state.count(keyWaiting), b.outcome(unknownSearch))
	}
}

// A trainer that was away for longer than the window joins what it has not read yet.
func TestSearchesOutliveATrainerThatWasAway(t *testing.T) {
	b := newBench(t, Config{Window: time.Hour})
	b.must(b.show(b.impression("s", "a", "b")))
	f := b.feedback("s", "b", schema.Called)
	b.must(b.bus.Publish(t.Context(), stream.Message{Topic: events.FeedbackTopic, Key: "default/s", Value: []byte("{}")}))
	b.now = b.now.Add(48 * time.Hour)
	b.restart(Config{Window: time.Hour})
	b.advance()
	b.must(b.report(f))
	if b.outcome(accepted) != 1 {
		t.Error("the feedback found no search")
	}
}

func TestTheTenantWithMostBytesLosesItsOldestSearches(t *testing.T) {
	b := newBench(t, Config{SearchBytes: 10_000})
	quiet := b.impression("quiet", "a", "b")
	quiet.Tenant = "quiet"
	b.must(b.show(quiet))
	for i := range 100 {
		b.must(b.show(b.impression(fmt.Sprint("s", i), "a", "b")))
	}
	size := 0
	for key, value := range b.state.values {
		if strings.HasPrefix(key, keySearch) {
			size += len(key) + len(value)
		}
	}
	if n := b.state.count(keySearch); size > 10_000 || size < 9_000 || n < 3 {
		t.Errorf("%d searches of %d bytes", n, size)
	}
	for key, want := range map[string]bool{"quiet/quiet": true, "default/s99": true, "default/s0": false} {
		if _, there := b.state.values[keySearch+key]; there != want {
			t.Errorf("%s is there: %v", key, there)
		}
	}
}

func TestEventsThatWaitAreBounded(t *testing.T) {
	b := newBench(t, Config{Waiting: 10})
	for i := range 30 {
		f := b.feedback(fmt.Sprint("made up", i), "a", schema.Called)
		f.Client = fmt.Sprint("client ", i)
		b.must(b.report(f))
	}
	other := b.feedback("s", "a", schema.Called)
	other.Tenant = "other"
	b.must(b.report(other))
	if n := b.state.count(keyWaiting + "default/"); n != 4 || b.state.count(keyWaiting+"other/") != 1 {
		t.Errorf("%d events of the one tenant and %d of the other wait", n, b.state.count(keyWaiting+"other/"))
	}
	ann := b.feedback("s", "a", schema.Called)
	ann.Credential = "ann"
	b.must(b.report(ann))
	if n := b.state.count(keyWaiting + "default/"); n != 5 {
		t.Errorf("%d events of the tenant wait: one credential takes the room of another", n)
	}
}

func TestOneSearchBringsABoundedNumberOfEvents(t *testing.T) {
	b := newBench(t, Config{})
	b.must(b.show(b.impression("s", "a", "b")))
	for i := range maxEvents + 5 {
		f := b.feedback("s", "a", schema.Called)
		f.ID = fmt.Sprint(i)
		b.must(b.report(f))
	}
	if b.outcome(capped) != 5 {
		t.Errorf("%d events are too many", b.outcome(capped))
	}
}

func TestTenantsDoNotMix(t *testing.T) {
	b := newBench(t, Config{})
	b.must(b.show(b.impression("s", "a", "b")))
	f := b.feedback("s", "a", schema.Called)
	f.Tenant = "other"
	b.must(b.report(f))
	b.advance()
	if len(b.store.usage(t, "other").Prior) > 0 || b.outcome(waiting) != 1 {
		t.Error("a tenant reported on a search of another")
	}
}

// The words of a query end with the search that waits for feedback: nothing that is learned
// or published holds them.
func TestOnlyTheVectorOfAQueryIsLearned(t *testing.T) {
	b := newBench(t, Config{Model: "m"})
	i := b.asking("s", 1, "a", "b")
	i.Query = "my secret"
	b.must(b.show(i))
	b.must(b.report(b.feedback("s", "b", schema.Called)))
	b.advance()
	holding := func() (keys []string) {
		for key, value := range b.state.values {
			if strings.Contains(value, "secret") {
				keys = append(keys, key)
			}
		}
		return keys
	}
	if got := holding(); !slices.Equal(got, []string{keySearch + "default/s"}) {
		t.Errorf("%q hold the words of the query", got)
	}
	keys, err := b.store.Keys(t.Context(), "")
	if b.must(err); len(keys) == 0 {
		t.Error("nothing was published")
	}
	for _, key := range keys {
		e, err := b.store.Get(t.Context(), key)
		if b.must(err); strings.Contains(string(e.Value), "secret") {
			t.Errorf("the store has the words of the query under %s", key)
		}
	}
	b.now = b.now.Add(25 * time.Hour)
	b.advance()
	if got := holding(); len(got) != 0 || b.state.count(keyCluster) != 1 {
		t.Errorf("after a day %q hold the words of the query, of %d clusters", got, b.state.count(keyCluster))
	}
}
