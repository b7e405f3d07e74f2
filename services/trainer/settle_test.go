package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/stream/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// happened is a search and what was reported of it, a second apart from the next.
type happened struct {
	at    time.Time
	shown *schema.Impression
	said  *schema.Feedback
}

// afternoon is searches whose uses come seconds later and out of turn, some in two
// goes.
func afternoon(b *bench) []happened {
	var out []happened
	start := b.now
	for i := range 40 {
		b.now = start.Add(time.Duration(i) * time.Second)
		imp := b.impression(fmt.Sprint("s", i), "wordy", "right", "other", "more")
		out = append(out, happened{at: b.now, shown: &imp})
		for _, late := range []int{i - i%3, i - 4} {
			if late < 0 {
				continue
			}
			f := b.feedback(fmt.Sprint("s", late), []string{"right", "other", "more"}[i%3], schema.Called)
			out = append(out, happened{at: b.now, said: &f})
		}
	}
	b.now = start
	return out
}

func (b *bench) take(h happened) {
	b.t.Helper()
	if h.shown != nil {
		b.must(b.show(*h.shown))
	} else {
		b.must(b.report(*h.said))
	}
}

// TestATrainerThatWasAwayLearnsTheSame lets one trainer read everything as it
// happens, and others everything hours later, with restarts and ticks in between.
func TestATrainerThatWasAwayLearnsTheSame(t *testing.T) {
	cfg := Config{Learn: fusion.LearnConfig{Batch: 4}, Retrain: 3}
	there := newBench(t, cfg)
	for _, h := range afternoon(there) {
		there.now = h.at
		there.take(h)
		there.must(there.Advance(context.Background()))
	}
	there.advance()
	want := learnedBy(there)
	for every := 1; every <= 20; every += 3 {
		away := newBench(t, cfg)
		all := afternoon(away)
		away.now = away.now.Add(5 * time.Hour)
		for _, h := range all {
			topic, id := events.FeedbackTopic, ""
			if h.shown != nil {
				topic, id = events.Searches, h.shown.SearchID
			}
			away.must(away.bus.Publish(context.Background(), stream.Message{Topic: topic, Key: id}))
		}
		for i, h := range all {
			away.take(h)
			if i%every == 0 {
				away.must(away.Advance(context.Background()))
				away.restart(cfg)
			}
		}
		away.must(away.Advance(context.Background())) // everything was read: nothing to wait for
		if n := len(away.memory.due); n > 0 {
			t.Fatalf("%d searches are not settled", n)
		}
		differ(t, fmt.Sprintf("away, restarted after every %d", every), learnedBy(away), want)
	}
}

// Who is stopped while learning begins anew begins again with the same.
func TestLearningAnewThatIsBrokenOffIsDoneAgain(t *testing.T) {
	cfg := Config{Learn: fusion.LearnConfig{Batch: 4}, Retrain: 6}
	run := func(breakOff bool) (*bench, int) {
		b, broken := newBench(t, cfg), 0
		for i := range 40 {
			imp := b.asking(fmt.Sprint("s", i), i%16, "wordy", "right", "other")
			b.must(b.show(imp))
			b.must(b.report(b.feedback(imp.SearchID, "right", schema.Called)))
			b.now = b.now.Add(time.Second)
		}
		b.now = b.now.Add(time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for breakOff && errors.Is(b.Advance(ctx), context.Canceled) && broken < 3 {
			broken++
			b.restart(cfg)
		}
		b.advance()
		return b, broken
	}
	undisturbed, _ := run(false)
	if fresh := undisturbed.memory.tenants["default"].find("m").record.Fresh; fresh >= 6 || len(undisturbed.memory.due) > 0 {
		t.Fatalf("%d searches since learning began anew, %d not settled", fresh, len(undisturbed.memory.due))
	}
	got, broken := run(true)
	if broken == 0 {
		t.Fatal("learning anew was not broken off")
	}
	differ(t, "broken off", learnedBy(got), learnedBy(undisturbed))
}

// learnedBy is what a trainer counted and learned, but not which versions it
// published meanwhile: that is a matter of the time of day.
func learnedBy(b *bench) map[string]string {
	out := maps.Clone(b.state.values)
	maps.DeleteFunc(out, func(key, _ string) bool {
		return strings.HasPrefix(key, keyVersion) || strings.HasPrefix(key, keyAttempts)
	})
	for name, tenant := range b.memory.tenants {
		delete(out, keyTenant+name)
		for _, l := range tenant.lessons {
			raw, err := json.Marshal([]any{l.learner.State(), l.record.Pairs, l.record.Pending, l.record.Trial.Held})
			b.must(err)
			out["learned by "+l.owner()] = string(raw)
		}
	}
	return out
}

// A bus that does not say how far it goes holds nothing up for long.
func TestWhatSettledIsLearnedWithoutTheBus(t *testing.T) {
	b := newBench(t, Config{})
	b.must(b.show(b.impression("s", "a", "b")))
	b.must(b.report(b.feedback("s", "b", schema.Called)))
	b.must(b.bus.Close())
	b.bus.Fail(func(streamtest.Call) error { return errKilled })
	b.now = b.now.Add(4 * time.Second)
	b.must(b.Advance(context.Background()))
	if len(b.memory.due) != 1 {
		t.Fatal("settled before its time")
	}
	b.now = b.now.Add(time.Second)
	b.must(b.Advance(context.Background()))
	if len(b.memory.due) != 0 {
		t.Fatal("not settled")
	}
}

// Where more settles than can be learned from in time, what was learned is published in
// between, and the next ticks go on.
func TestABacklogKeepsNothingElseBack(t *testing.T) {
	b := newBench(t, Config{Retrain: 3, Learn: fusion.LearnConfig{Batch: 4}})
	for i := range 30 {
		imp := b.asking(fmt.Sprint("s", i), i, "wordy", "right", "other")
		b.must(b.show(imp))
		b.must(b.report(b.feedback(imp.SearchID, "right", schema.Succeeded)))
	}
	b.ticks = 3 * time.Second
	b.advance()
	if left := len(b.memory.due); left == 0 || left == 30 {
		t.Errorf("%d of 30 searches wait", left)
	}
	if b.store.usage(t, "default").Prior["right"] == 0 {
		t.Error("nothing was published in between")
	}
	for range 30 {
		b.advance()
	}
	if left := len(b.memory.due); left != 0 {
		t.Errorf("%d searches wait in the end", left)
	}
}

// Who reads events far ahead of the searches that they are of, as without its state, waits
// for those, and loses none.
func TestEventsWaitUntilThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const searches = 30
		cfg := quick()
		cfg.Waiting = 20
		b := newBench(t, cfg)
		var impressions []schema.Impression
		var reports []schema.Feedback
		for i := range searches {
			search := fmt.Sprint("s", i)
			impressions = append(impressions, b.impression(search, "wordy", "right"))
			reports = append(reports, b.feedback(search, "right", schema.Called))
			b.must(b.bus.Publish(t.Context(), stream.Message{Topic: events.Searches, Key: "default/" + search, Value: []byte("{}")}))
		}
		reported := make(chan error, 1)
		go func() { reported <- b.report(reports...) }()
		synctest.Wait()
		if n := b.outcome(unknownSearch); n > 0 {
			t.Errorf("%d events are taken for those of unknown searches", n)
		}
		b.must(b.show(impressions...))
		b.must(<-reported)
		if got := b.outcome(accepted); got != searches {
			t.Errorf("%d events of %d count", got, searches)
		}
		// When all searches are read, what is of none waits no longer than there is room.
		b.must(b.report(b.made(searches)...))
		if b.outcome(unknownSearch) == 0 {
			t.Error("nothing is of an unknown search")
		}
	})
}

// made are events of searches that never were.
func (b *bench) made(n int) (list []schema.Feedback) {
	for i := range n {
		list = append(list, b.feedback(fmt.Sprint("made", i), "right", schema.Called))
	}
	return list
}

// A clock that was ahead, and was put right, keeps nothing from being learned.
func TestAClockThatWasAhead(t *testing.T) {
	b := newBench(t, quick())
	right := b.now
	b.now = right.Add(365 * 24 * time.Hour)
	b.teach("ahead", 40)
	first, err := b.Live("default")
	b.must(err)
	if first.Version == fusion.BuiltinName {
		t.Fatal("nothing was published: the test shows nothing")
	}
	b.now = right
	before := b.outcome(accepted)
	b.teach("right", 40)
	if got := b.outcome(accepted) - before; got != 40 || b.outcome(unknownSearch) != 0 {
		t.Errorf("%d of 40 events count, %d are of unknown searches", got, b.outcome(unknownSearch))
	}
	if live, _ := b.Live("default"); live.Version == first.Version {
		t.Error("no weights follow those that were published in the future")
	}
	b.restart(quick()) // a process tells the time that passes from the clock's
	b.advance()
	was := maps.Clone(b.memory.tenants["default"].uses)
	b.now = right.Add(30 * b.cfg.HalfLife)
	b.advance()
	for tool, ta := range was {
		if now := b.memory.tenants["default"].uses[tool].Decayed(b.now, b.cfg.HalfLife); now >= ta.Count/1000 {
			t.Errorf("after 30 half-lives %g of %g uses of %s count", now, ta.Count, tool)
		}
	}
}
