package ingest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// What the bus never takes is refused alone: the rest of its round is accepted, and so
// is what comes behind it.
func TestARecordThatTheBusRefusesKeepsNoneBack(t *testing.T) {
	bus := streamtest.NewBus()
	s, _ := start(t, bus, Config{}, newWall().now)
	bus.Fail(func(c streamtest.Call) error {
		if c.Op == streamtest.OpPublish && slices.ContainsFunc(c.Messages, func(m stream.Message) bool { return strings.Contains(string(m.Value), "huge") }) {
			return fmt.Errorf("publish: %w", stream.Permanent(stream.ReasonTooLarge, errors.New("more than the topic takes")))
		}
		return nil
	})
	items := []formats.Item{doc("a", "x"), doc("b", "huge"), doc("c", "x"), doc("d", "x"), doc("e", "huge")}
	if got := accept(t, s, items...); got != "accepted rejected accepted accepted rejected" {
		t.Errorf("%s", got)
	}
	checkLog(t, bus, -1)
	out, err := s.Accept(t.Context(), home, []formats.Item{doc("b", "huge")}, Options{})
	if err != nil || out[0].State != Rejected || out[0].Reason != ReasonTooLarge || out[0].Revision != 0 || statusOf(out[0].Reason) != http.StatusRequestEntityTooLarge {
		t.Errorf("alone: %+v, %v", out, err)
	}
	if got := accept(t, s, doc("a", "x"), doc("b", "small")); got != "unchanged accepted" {
		t.Errorf("afterwards: %s", got)
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
				if got := accept(t, s, item); got != "accepted" {
					t.Errorf("%+v: %s", item, got)
				}
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
	bus := streamtest.NewBus()
	s, _ := start(t, bus, Config{}, newWall().now)
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
	if _, err := b.Accept(t.Context(), []formats.Item{owned(doc("a", "x"), "mail")}); err != nil {
		t.Fatal(err)
	}
	deleted, err := b.Finish(t.Context())
	if err != nil || len(deleted) != 1 || deleted[0].ID != "landed" {
		t.Errorf("deleted %+v, %v", deleted, err)
	}
}

// Ids and providers are compared in NFC, also those of what is rejected.
func TestSyncComparesInNFC(t *testing.T) {
	s, _ := start(t, streamtest.NewBus(), Config{}, newWall().now)
	accept(t, s, owned(doc("caf\u00e9", "x"), "se\u00f1or"), owned(doc("gone", "x"), "se\u00f1or"))
	b := s.newBatch(home, "sen\u0303or", true, Options{})
	b.Reject([]formats.Problem{{ID: "cafe\u0301", Reason: formats.NotATool}})
	deleted, err := b.Finish(t.Context())
	if err != nil || len(deleted) != 1 || deleted[0].ID != "gone" {
		t.Errorf("deleted %+v, %v", deleted, err)
	}
}
