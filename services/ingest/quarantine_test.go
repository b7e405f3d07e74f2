package ingest

import (
	"cmp"
	"net/http"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// release releases the document of an item and wants the state, or the reason of a refusal.
func release(t *testing.T, s *Service, item formats.Item, want string) {
	t.Helper()
	o, err := s.Release(t.Context(), ref(item.ID), item.Hash)
	if got := cmp.Or(o.Reason, string(o.State)); err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

// A release is the same document with a higher revision and its hash, which stays with later
// documents, in another process too, and goes with a delete.
func TestAReleaseStaysWithItsTool(t *testing.T) {
	bus := streamtest.NewBus()
	s, stop := start(t, bus, Config{}, newWall().now)
	one, two := owned(doc("a", "one"), "p"), owned(doc("a", "two"), "p")
	accept(t, s, versioned(one, 4))
	before := newest(t, bus, "a")
	release(t, s, one, "accepted")
	c := newest(t, bus, "a")
	if c.Revision <= before.Revision || c.Source != 4 || c.Released != one.Hash || c.Hash != one.Hash || c.Provider != "p" || string(c.Raw) != string(before.Raw) || before.Released != "" {
		t.Errorf("released is %+v, before %+v", c, before)
	}
	release(t, s, one, "unchanged")
	wantStates(t, s, "unchanged", one)
	stop()
	s, _ = start(t, bus, Config{}, newWall().now)
	release(t, s, one, "unchanged")
	accept(t, s, versioned(two, 5))
	if c := newest(t, bus, "a"); c.Released != one.Hash || c.Hash != two.Hash {
		t.Errorf("another document: %+v", c)
	}
	release(t, s, one, ReasonChanged)
	release(t, s, two, "accepted")
	accept(t, s, versioned(gone("a"), 6), versioned(two, 7))
	if c := newest(t, bus, "a"); c.Released != "" {
		t.Errorf("after a delete: %+v", c)
	}
}

func TestWhatCannotBeReleased(t *testing.T) {
	bus, s := newService(t)
	accept(t, s, doc("a", "one"), doc("b", "x"))
	accept(t, s, gone("b"))
	for name, c := range map[string]struct {
		item   formats.Item
		reason string
		status int
	}{
		"unknown":          {doc("c", "one"), ReasonNotFound, http.StatusNotFound},
		"deleted":          {doc("b", "x"), ReasonNotFound, http.StatusNotFound},
		"another document": {doc("a", "two"), ReasonChanged, http.StatusConflict},
		"no id":            {doc("", "one"), ReasonInvalid, http.StatusUnprocessableEntity},
	} {
		if release(t, s, c.item, c.reason); statusOf(c.reason) != c.status {
			t.Errorf("%s: status %d", name, statusOf(c.reason))
		}
	}
	if n := len(changes(t, bus)); n != 3 {
		t.Errorf("%d changes on the bus", n)
	}
	other := ref("a")
	other.Tenant = "another"
	if o, err := s.Release(t.Context(), other, doc("a", "one").Hash); err != nil || o.Reason != ReasonNotFound {
		t.Errorf("another tenant: %+v, %v", o, err)
	}
}

// What was read may be another document, or gone, by the time of the commit; without an answer
// from the bus, that is not known.
func TestAReleaseUndoesNoChange(t *testing.T) {
	one, two := &events.Change{Hash: "1"}, &events.Change{Hash: "2"}
	there := recordOf(one)
	deleted := recordOf(&events.Change{Op: events.OpDelete})
	done := recordOf(&events.Change{Hash: "1", Released: "1"})
	for name, c := range map[string]struct {
		old              record
		there, uncertain bool
		state            State
		reason           string
	}{
		"as it was read":   {there, true, false, Accepted, ""},
		"another document": {recordOf(two), true, false, Rejected, ReasonChanged},
		"in doubt":         {there, true, true, Rejected, ReasonChanged},
		"deleted":          {deleted, true, false, Rejected, ReasonNotFound},
		"forgotten":        {record{}, false, false, Rejected, ReasonNotFound},
		"released already": {done, true, false, Unchanged, ""},
	} {
		released := &change{Change: events.Change{Hash: "1", Released: "1"}, quarantine: true}
		if state, reason := stateOf(c.old, c.there, c.uncertain, released); state != c.state || reason != c.reason {
			t.Errorf("%s: %s %s", name, state, reason)
		}
	}
}

// A hold stays with a tool whatever it says later, through a delete and in another process, and
// ends with a release, which it takes back.
func TestAHoldStaysUntilTheRelease(t *testing.T) {
	bus := streamtest.NewBus()
	s, stop := start(t, bus, Config{}, newWall().now)
	one, two := owned(doc("a", "one"), "p"), owned(doc("a", "two"), "p")
	hold := func(id, want string) {
		t.Helper()
		o, err := s.Hold(t.Context(), ref(id))
		if got := cmp.Or(o.Reason, string(o.State)); err != nil || got != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	accept(t, s, one)
	release(t, s, one, "accepted")
	before := newest(t, bus, "a")
	hold("a", "accepted")
	if c := newest(t, bus, "a"); !c.Held || c.Released != "" || c.Revision <= before.Revision || c.Hash != one.Hash || string(c.Raw) != string(before.Raw) {
		t.Errorf("held is %+v, before %+v", c, before)
	}
	hold("a", "unchanged")
	stop()
	s, _ = start(t, bus, Config{}, newWall().now)
	for _, next := range []formats.Item{two, gone("a"), one} {
		wantStates(t, s, "accepted", next)
		if c := newest(t, bus, "a"); !c.Held {
			t.Errorf("not held: %+v", c)
		}
	}
	release(t, s, one, "accepted")
	if c := newest(t, bus, "a"); c.Held || c.Released != one.Hash {
		t.Errorf("released is %+v", c)
	}
	accept(t, s, two)
	if c := newest(t, bus, "a"); c.Held {
		t.Errorf("held again: %+v", c)
	}
	hold("unknown", ReasonNotFound)
	accept(t, s, gone("a"))
	hold("a", ReasonNotFound)
}
