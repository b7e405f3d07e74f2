package ingest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// What a hundred tools say is noted in the records of all, those that came before too; in
// another process likewise.
func TestRecordsSayWhatIsBoilerplate(t *testing.T) {
	const terms = "By using it you agree to our terms."
	bus := streamtest.NewBus()
	s, stop := start(t, bus, Config{}, newWall().now)
	var items []formats.Item
	for i := range 110 {
		items = append(items, versioned(owned(doc(fmt.Sprint("p/", i), fmt.Sprintf("Does number %d of all things. %s", i, terms)), "p"), 4))
	}
	accept(t, s, items...)
	first := map[string]events.Change{}
	for _, c := range changes(t, bus)[:len(items)] {
		first[c.ID] = c
	}
	said := func() (n int) {
		latest := map[string]events.Change{}
		for _, c := range changes(t, bus) {
			latest[c.ID] = c
		}
		for id, c := range latest {
			if !slices.Equal(c.Boilerplate, []string{terms}) {
				continue
			}
			n++
			if before := first[id]; c.Source != 4 || c.Provider != "p" || c.Hash != before.Hash || c.First != before.First || string(c.Raw) != string(before.Raw) {
				t.Errorf("%+v was %+v", c, before)
			}
		}
		return n
	}
	if err := bus.Await(t.Context(), func() bool { return said() == len(items) }); err != nil {
		t.Fatal(err)
	}
	if got := accept(t, s, items[0]); got != "unchanged" {
		t.Errorf("the same document: %s", got)
	}
	stop()
	s, _ = start(t, bus, Config{}, newWall().now)
	published := len(changes(t, bus))
	accept(t, s, doc("p/new", "Does what is new. "+terms), doc("q", "Does what is not said elsewhere."))
	if all := changes(t, bus); len(all) != published+2 || len(all[published].Boilerplate) != 1 || all[published+1].Boilerplate != nil {
		t.Errorf("after a restart: %+v", all[published:])
	}
}

// Of a tool that has changed since, nothing is written again.
func TestWhatIsBoilerplateIsNotedInTheNewestRecord(t *testing.T) {
	s, _ := start(t, streamtest.NewBus(), Config{}, newWall().now)
	old := outcomes(t, s, doc("a", "The first text of the tool."))[0].Revision
	accept(t, s, doc("a", "The second text of the tool."))
	c, why := s.change(home, doc("a", "The first text of the tool."), Options{})
	if why != nil {
		t.Fatal(why)
	}
	c.marks = old
	known, there, _ := s.table.get(c.key)
	if state, _ := decide(known, there, false, c); state != Unchanged {
		t.Errorf("%s", state)
	}
	c.marks = known.Revision
	if state, _ := decide(known, there, false, c); state != Accepted {
		t.Errorf("%s", state)
	}
}
