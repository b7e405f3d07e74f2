package ingest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/quota"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// What the bus never takes is refused alone: the rest of its round is accepted, and so
// is what comes behind it.
func TestARecordThatTheBusRefusesKeepsNoneBack(t *testing.T) {
	bus, s := newService(t)
	bus.Fail(func(c streamtest.Call) error {
		if c.Op == streamtest.OpPublish && slices.ContainsFunc(c.Messages, func(m stream.Message) bool { return strings.Contains(string(m.Value), "huge") }) {
			return fmt.Errorf("publish: %w", stream.Permanent(stream.ReasonTooLarge, errors.New("more than the topic takes")))
		}
		return nil
	})
	items := []formats.Item{doc("a", "x"), doc("b", "huge"), doc("c", "x"), doc("d", "x"), doc("e", "huge")}
	wantStates(t, s, "accepted rejected accepted accepted rejected", items...)
	checkLog(t, bus, -1)
	out, err := s.Accept(t.Context(), home, []formats.Item{doc("b", "huge")}, Options{})
	if err != nil || out[0].State != Rejected || out[0].Reason != ReasonTooLarge || out[0].Revision != 0 || statusOf(out[0].Reason) != http.StatusRequestEntityTooLarge {
		t.Errorf("alone: %+v, %v", out, err)
	}
	wantStates(t, s, "unchanged accepted", doc("a", "x"), doc("b", "small"))
}

// refusing makes the bus refuse for good every record with a text. Before it does, it stores the
// others of the call if stores says so, as a bus may.
func refusing(bus *streamtest.Bus, text string, stores bool) func(streamtest.Call) error {
	return func(c streamtest.Call) error {
		bad := func(m stream.Message) bool { return strings.Contains(string(m.Value), text) }
		if c.Op != streamtest.OpPublish || !slices.ContainsFunc(c.Messages, bad) {
			return nil
		}
		if others := slices.DeleteFunc(slices.Clone(c.Messages), bad); stores && len(others) > 0 {
			if err := bus.Publish(context.Background(), others...); err != nil {
				return err
			}
		}
		return stream.Permanent(stream.ReasonTooLarge, errors.New("more than the topic takes"))
	}
}

// What was decided against a record that the bus then refused is decided again without it.
func TestNothingIsDecidedAgainstARecordThatTheBusRefused(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before []formats.Item
		writes [][]formats.Item // of one group
		want   string
		left   string // description of the newest record; empty: there is none
	}{
		{"superseded by it", nil, [][]formats.Item{{doc("a", "x"), doc("a", "huge")}}, "accepted rejected", "x"},
		{"superseded by two", nil, [][]formats.Item{{doc("a", "x"), doc("a", "huge"), doc("a", "huge 2")}}, "accepted rejected rejected", "x"},
		{"superseded by a later one", nil, [][]formats.Item{{doc("a", "x"), doc("a", "huge"), doc("a", "y")}}, "superseded superseded accepted", "y"},
		{"the same again", nil, [][]formats.Item{{doc("a", "huge")}, {doc("a", "huge")}}, "rejected rejected", ""},
		{"the same again in one call", nil, [][]formats.Item{{doc("a", "huge"), doc("a", "huge")}}, "rejected rejected", ""},
		{"the known one behind it", []formats.Item{doc("a", "x")}, [][]formats.Item{{doc("a", "huge")}, {doc("a", "x")}}, "rejected accepted", "x"},
		{"the same as what it replaced", nil, [][]formats.Item{{doc("a", "x"), doc("a", "x"), doc("a", "huge")}}, "accepted unchanged rejected", "x"},
		{"its source version", nil, [][]formats.Item{{versioned(doc("a", "huge"), 9)}, {versioned(doc("a", "x"), 5)}}, "rejected accepted", "x"},
		{"its source version, kept", nil, [][]formats.Item{{versioned(doc("a", "huge"), 9)}, {doc("a", "x")}, {versioned(doc("a", "y"), 5)}}, "rejected accepted stale", "x"}, // the bus may hold x with version 9
		{"its version with other content", nil, [][]formats.Item{{versioned(doc("a", "huge"), 9), versioned(doc("a", "x"), 9)}}, "rejected accepted", "x"},
		{"its provider", nil, [][]formats.Item{{owned(doc("a", "huge"), "mail")}, {owned(doc("a", "x"), "post")}}, "rejected accepted", "x"},
		{"its provider, inherited", nil, [][]formats.Item{{owned(doc("a", "huge"), "mail")}, {doc("a", "x")}, {owned(doc("a", "y"), "post")}}, "rejected accepted accepted", "y"},
		{"another tool beside it", nil, [][]formats.Item{{doc("b", "x"), doc("a", "huge"), doc("c", "x")}, {doc("b", "x"), doc("a", "y")}}, "accepted rejected accepted unchanged accepted", "y"},
	} {
		for _, stores := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stores %v", tc.name, stores), func(t *testing.T) {
				bus := streamtest.NewBus()
				fail, end := deaf(bus)
				s, _ := start(t, bus, Config{}, newWall().now)
				accept(t, s, tc.before...)
				fail(refusing(bus, "huge", stores))
				got := commitGroup(t, s, tc.writes...)
				end()
				checkGroup(t, bus, got)
				if states(got) != tc.want {
					t.Errorf("%s, want %s", states(got), tc.want)
				}
				left, seen := "", visible(t, bus, "a")
				if seen.ID != "" {
					left = description(t, seen)
				}
				check.OK(t, s.replica.current(t.Context()))
				if known, _, _ := s.replica.table.get(events.Key(ref("a"))); known.Version != seen.Version {
					t.Errorf("the table knows %+v, the bus ends with %+v", known.Version, seen.Version)
				}
				if left != tc.left {
					t.Errorf("%q is left, want %q", left, tc.left)
				}
			})
		}
	}
}

// A change that the bus refuses takes no place of its tenant's limit.
func TestARefusedRecordDoesNotCount(t *testing.T) {
	bus := streamtest.NewBus()
	s, _ := start(t, bus, Config{Tools: quota.Quota{"": 2}}, newWall().now)
	bus.Fail(refusing(bus, "huge", false))
	items := []formats.Item{doc("a", "huge"), doc("b", "x"), doc("c", "x"), doc("d", "x"), gone("d")}
	if got := commitGroup(t, s, items); states(got) != "rejected accepted accepted rejected accepted" {
		t.Errorf("%+v", got)
	}
	wantStates(t, s, "rejected unchanged", doc("d", "x"), doc("c", "x"))
}

// What may be on the bus, and is not acceptable without what was refused before it, is not known.
func TestWhatMayBeStoredIsNotRejected(t *testing.T) {
	for stores, want := range map[bool]string{true: "unchanged", false: "rejected"} {
		bus := streamtest.NewBus()
		s, _ := start(t, bus, Config{}, newWall().now)
		accept(t, s, owned(doc("a", "x"), "mail"))
		bus.Fail(refusing(bus, "huge", stores))
		first, _ := s.prepare(t.Context(), home, []formats.Item{owned(doc("a", "huge"), "post")}, Options{TakeOver: true})
		second, _ := s.prepare(t.Context(), home, []formats.Item{owned(doc("a", "y"), "post")}, Options{})
		err := s.committer.commit([]*write{first, second})
		if !errors.Is(err, ErrUnavailable) && !(stores && err == nil) { // unless the table has read it meanwhile
			t.Errorf("stores %v: %v", stores, err)
		}
		bus.Fail(nil)
		check.OK(t, s.replica.current(t.Context()))
		wantStates(t, s, want, owned(doc("a", "y"), "post"))
	}
}

// An answer names the revision of a record that is there, also if what it was compared with was
// replaced by a later item of its call.
func TestAnswersNameRevisionsThatExist(t *testing.T) {
	for want, items := range map[string][]formats.Item{
		"superseded superseded accepted": {doc("a", "x"), doc("a", "x"), doc("a", "y")},
		"superseded stale accepted":      {versioned(doc("a", "x"), 5), versioned(doc("a", "w"), 4), versioned(doc("a", "y"), 6)},
		"superseded rejected accepted":   {versioned(doc("a", "x"), 5), versioned(doc("a", "w"), 5), versioned(doc("a", "y"), 6)},
		"superseded stale superseded accepted": {
			versioned(doc("a", "x"), 5), versioned(doc("a", "w"), 4), versioned(doc("a", "y"), 6), versioned(doc("a", "z"), 7),
		},
	} {
		bus, s := newService(t)
		got := outcomes(t, s, items...)
		if states(got) != want {
			t.Errorf("%s, want %s", states(got), want)
		}
		checkGroup(t, bus, got)
	}
}

// commitGroup commits the writes of several calls as one group.
func commitGroup(t testing.TB, s *Service, calls ...[]formats.Item) (all []Outcome) {
	t.Helper()
	check.OK(t, s.replica.awaitLoaded(t.Context()))
	writes, parts := make([]*write, len(calls)), make([][]Outcome, len(calls))
	for i, items := range calls {
		writes[i], parts[i] = s.prepare(t.Context(), home, items, Options{})
	}
	check.OK(t, s.committer.commit(writes))
	return slices.Concat(parts...)
}

// checkGroup checks that every revision that outcomes name is one of a record of its tool.
func checkGroup(t testing.TB, bus *streamtest.Bus, got []Outcome) {
	t.Helper()
	log := changes(t, bus)
	for i, o := range got {
		there := slices.ContainsFunc(log, func(c events.Change) bool { return c.ID == o.ID && c.Revision == o.Revision })
		if o.Revision != 0 && !there || o.Revision == 0 && (o.State == Accepted || o.State == Unchanged) {
			t.Errorf("item %d: there is no such revision: %+v", i, o)
		}
	}
}

// What failed with a source version may have landed. Whatever comes without
// one must then be newer all the same, or it would be acknowledged and ignored.
func TestWhatIsAcceptedIsNewerThanWhatIsInDoubt(t *testing.T) {
	for name, tc := range map[string]struct {
		items []formats.Item
		left  string
	}{
		"a put by hand":         {[]formats.Item{doc("a", "z")}, "z"},
		"a delete by hand":      {[]formats.Item{gone("a")}, "-"},
		"after a lower version": {[]formats.Item{versioned(doc("a", "w"), 5), gone("a")}, "-"},
		"back to what was":      {[]formats.Item{doc("a", "x")}, "x"},
		"the same again":        {[]formats.Item{versioned(doc("a", "y"), 6), doc("a", "z")}, "z"},
	} {
		t.Run(name, func(t *testing.T) {
			bus := streamtest.NewBus()
			fail, end := deaf(bus)
			defer end()
			s, _ := start(t, bus, Config{}, newWall().now)
			accept(t, s, versioned(doc("a", "x"), 4))
			answered := true
			fail(func(c streamtest.Call) error {
				if c.Op == streamtest.OpPublish && answered {
					answered = false
					return errors.Join(bus.Publish(t.Context(), c.Messages...), errors.New("the answer was lost"))
				}
				return nil
			})
			if _, err := s.Accept(t.Context(), home, []formats.Item{versioned(doc("a", "y"), 6)}, Options{}); err == nil {
				t.Fatal("accepted without an answer from the bus")
			}
			for _, item := range tc.items {
				wantStates(t, s, "accepted", item)
			}
			if left := description(t, visible(t, bus, "a")); left != tc.left {
				t.Errorf("what is seen is %q, want %q", left, tc.left)
			}
		})
	}
}

// deaf keeps the table from hearing of what is published until the test calls end. Beside
// that, fail sets what goes wrong.
func deaf(bus *streamtest.Bus) (fail func(func(streamtest.Call) error), end func()) {
	held := make(chan struct{})
	fail = func(fn func(streamtest.Call) error) {
		bus.Fail(func(c streamtest.Call) error {
			if c.Op == streamtest.OpFollow {
				<-held
			}
			return fn(c)
		})
	}
	fail(func(streamtest.Call) error { return nil })
	return fail, func() { close(held) }
}

// visible returns the change that a sink ends with.
func visible(t *testing.T, bus *streamtest.Bus, id string) (seen events.Change) {
	t.Helper()
	for _, c := range changes(t, bus) {
		if c.ID == id && (seen.Version.IsZero() || c.Version.Newer(seen.Version)) {
			seen = c
		}
	}
	return seen
}

// A tool that came in without an answer is the provider's all the same: the next
// sync without it deletes it.
func TestSyncKnowsWhatCameInWithoutAnAnswer(t *testing.T) {
	bus, s := newService(t)
	accept(t, s, owned(doc("a", "x"), "mail"))
	bus.Fail(func(c streamtest.Call) error {
		if c.Op != streamtest.OpPublish {
			return nil
		}
		bus.Fail(nil)
		return errors.Join(bus.Publish(t.Context(), c.Messages...), errors.New("the answer was lost"))
	})
	if _, err := s.Accept(t.Context(), home, []formats.Item{owned(doc("landed", "x"), "mail")}, Options{}); err == nil {
		t.Fatal("accepted without an answer from the bus")
	}
	b := s.newBatch(home, "mail", true, Options{})
	check.Value(b.Accept(t.Context(), []formats.Item{owned(doc("a", "x"), "mail")}))(t)
	deleted, err := b.Finish(t.Context())
	if err != nil || len(deleted) != 1 || deleted[0].ID != "landed" {
		t.Errorf("deleted %+v, %v", deleted, err)
	}
}

// Ids and providers are compared in NFC, also those of what is rejected.
func TestSyncComparesInNFC(t *testing.T) {
	_, s := newService(t)
	accept(t, s, owned(doc("caf\u00e9", "x"), "se\u00f1or"), owned(doc("gone", "x"), "se\u00f1or"))
	b := s.newBatch(home, "sen\u0303or", true, Options{})
	b.Reject([]formats.Problem{{ID: "cafe\u0301", Reason: formats.NotATool}})
	deleted, err := b.Finish(t.Context())
	if err != nil || len(deleted) != 1 || deleted[0].ID != "gone" {
		t.Errorf("deleted %+v, %v", deleted, err)
	}
}
