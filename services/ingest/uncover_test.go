package ingest

import (
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/stream/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// covered lets the delete of a tool come before an older change of it: of two
// processes, one decides on the change, the other one's delete is stored, then the
// change is.
func covered(t *testing.T, bus *streamtest.Bus) (one *Service) {
	t.Helper()
	w := newWall()
	bus.KeepAll()
	one, _ = start(t, bus, Config{Shared: true}, w.now)
	two, _ := start(t, bus, Config{Shared: true}, w.now)
	accept(t, one, doc("a", "first"))
	decided, store := make(chan struct{}), make(chan struct{})
	bus.Fail(onPublish(func(m stream.Message) error {
		if strings.Contains(string(m.Value), "late") {
			close(decided)
			<-store
		}
		return nil
	}))
	stored := make(chan string)
	go func() { stored <- accept(t, two, doc("a", "late")) }()
	<-decided
	bus.Fail(nil)
	w.jump(time.Second)
	if got := accept(t, one, gone("a")); got != "accepted" {
		t.Fatalf("delete: %s", got)
	}
	close(store)
	if got := <-stored; got != "accepted" {
		t.Fatalf("change: %s", got)
	}
	if last := newest(t, bus, "a"); last.Op != events.OpUpsert {
		t.Fatalf("the last record is a %s: nothing is covered", last.Op)
	}
	return one
}

func TestWhatAnOlderChangeCoversIsPutToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := streamtest.NewBus()
		covered(t, bus)
		time.Sleep(time.Minute)
		bus.Compact()
		msgs := bus.Messages(events.ToolsRaw)
		if last := newest(t, bus, "a"); last.Op != events.OpDelete || len(msgs) != 1 {
			t.Errorf("%d records are left, the last is a %s", len(msgs), last.Op)
		}
		if n := len(bus.Published(events.ToolsRaw)); n > 5 { // three changes, and the delete again by each at most
			t.Errorf("%d records were published", n)
		}
	})
}

// A process that starts sees what came to be covered while none ran.
func TestWhatIsCoveredIsFoundAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, w := streamtest.NewBus(), newWall()
		bus.KeepAll()
		s, stop := start(t, bus, Config{Shared: true}, w.now)
		accept(t, s, doc("a", "old"))
		accept(t, s, doc("a", "new"))
		stop()
		if err := bus.Publish(t.Context(), bus.Messages(events.ToolsRaw)[0]); err != nil {
			t.Fatal(err)
		}
		start(t, bus, Config{Shared: true}, w.now)
		time.Sleep(time.Minute)
		if last := description(t, newest(t, bus, "a")); last != "new" {
			t.Errorf("the last record says %q", last)
		}
	})
}

// What compaction dropped before it was put to the end has to be sent again, and is
// not taken for known then.
func TestWhatIsLostIsAcceptedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := streamtest.NewBus()
		one := covered(t, bus)
		synctest.Wait() // until it was read
		bus.Compact()
		time.Sleep(time.Minute)
		if got := accept(t, one, gone("a")); got != "accepted" {
			t.Errorf("the delete that was lost is %s", got)
		}
		if last := newest(t, bus, "a"); last.Op != events.OpDelete {
			t.Errorf("the last record is a %s", last.Op)
		}
	})
}

func TestTableKnowsWhatIsCovered(t *testing.T) {
	key := events.Key(ref("a"))
	version := func(n uint64) known { return known{Version: schema.Version{Revision: n}} }
	for name, tc := range map[string]struct {
		read []place // of revisions 9, 5, 5, 5 …; the zero place is published
		then []place // of revision 9 once more
		want map[string]place
	}{
		"behind it":            {read: []place{{offset: 3}, {offset: 4}}, want: map[string]place{key: {offset: 3}}},
		"before it":            {read: []place{{offset: 3}, {offset: 2}}},
		"in another partition": {read: []place{{offset: 3}, {offset: 4, partition: 1}}},
		"not read yet":         {read: []place{{}, {offset: 4}}},
		"read behind":          {read: []place{{}, {offset: 4}}, then: []place{{offset: 5}}},
		"put to the end":       {read: []place{{offset: 3}, {offset: 4}}, then: []place{{offset: 5}}},
	} {
		table := NewTable()
		for i, at := range tc.read {
			revision := uint64(5)
			if i == 0 {
				revision = 9
			}
			table.put(ref("a"), key, version(revision), at)
		}
		for _, at := range tc.then {
			table.seen(key, version(9).Version, at)
		}
		if got := table.covered(); !maps.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
