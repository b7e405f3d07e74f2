package embedder

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/stream/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
)

// shelf is an Index in memory.
type shelf struct {
	mu        sync.Mutex
	changes   []events.Change
	positions map[int]uint64
	fail      func([]events.Change) error
	grown     chan struct{}       // receives after every Apply
	expired   chan map[int]uint64 // receives what had been read, at every Expire
}

func newShelf() *shelf {
	return &shelf{positions: map[int]uint64{}, grown: make(chan struct{}, 100), expired: make(chan map[int]uint64, 100)}
}

func (s *shelf) Expire() error {
	s.expired <- s.Positions()
	return nil
}

func (s *shelf) Positions() map[int]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.positions)
}

func (s *shelf) Apply(_ context.Context, changes []events.Change, through map[int]uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(changes); err != nil {
			return err
		}
	}
	s.changes = append(s.changes, changes...)
	maps.Copy(s.positions, through)
	s.grown <- struct{}{}
	return nil
}

func (s *shelf) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, c := range s.changes {
		out = append(out, c.ID)
	}
	return out
}

// await blocks until the shelf has read up to the given offset.
func (s *shelf) await(t *testing.T, offset uint64) {
	t.Helper()
	ctx := deadline(t)
	for s.Positions()[0] < offset {
		select {
		case <-s.grown:
		case <-ctx.Done():
			t.Fatalf("the index is at %v, want %d", s.Positions(), offset)
		}
	}
}

// write runs a writer until the test ends, or stop is called.
func write(t *testing.T, bus *streamtest.Bus, s *shelf) (reg *prometheus.Registry, stop func()) {
	t.Helper()
	reg = prometheus.NewRegistry()
	w, err := NewIndexWriter(WriterDeps{
		Index: s, Follower: bus, Publisher: bus, Logger: slog.New(slog.DiscardHandler), Registerer: reg,
	})
	if err != nil {
		t.Fatal(err)
	}
	return reg, run(t, w.Run)
}

func publish(t *testing.T, bus *streamtest.Bus, ids ...string) {
	t.Helper()
	for i, id := range ids {
		if err := bus.Publish(deadline(t), message(t, events.ToolsEmbedded, upsert(id, uint64(i+1), weather()))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWriterGoesOnWhereTheIndexIs(t *testing.T) {
	bus, s := streamtest.NewBus(), newShelf()
	publish(t, bus, "a", "b", "c")
	s.positions[0] = 2
	write(t, bus, s)
	s.await(t, 3)
	if ids := s.ids(); len(ids) != 1 || ids[0] != "c" {
		t.Errorf("applied %v", ids)
	}
}

func TestFreshnessCountsNewsOnly(t *testing.T) {
	bus, s := streamtest.NewBus(), newShelf()
	publish(t, bus, "a", "b")
	reg, stop := write(t, bus, s)
	s.await(t, 2)
	publish(t, bus, "c")
	s.await(t, 3)
	stop()
	if n := metric(t, reg, "toolstream_freshness_seconds"); n != 1 {
		t.Errorf("%v changes counted", n)
	}
}

// Neither an index that is filled to be searched later nor a document made anew
// says anything about how long a change waits.
func TestFreshnessIsOfWhatIsSearchedForTheFirstTime(t *testing.T) {
	bus, s := streamtest.NewBus(), newShelf()
	reg := prometheus.NewRegistry()
	var searched atomic.Bool
	w, err := NewIndexWriter(WriterDeps{
		Index: s, Follower: bus, Publisher: bus, Searched: searched.Load, Logger: slog.New(slog.DiscardHandler), Registerer: reg,
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, w.Run)
	publish(t, bus, "a")
	s.await(t, 1)
	searched.Store(true)
	again := message(t, events.ToolsEmbedded, upsert("a", 1, weather()))
	again.Headers = map[string]string{events.HeaderRefreshed: "since"}
	if err := bus.Publish(deadline(t), again); err != nil {
		t.Fatal(err)
	}
	s.await(t, 2)
	publish(t, bus, "b")
	s.await(t, 3)
	stop()
	if n := metric(t, reg, "toolstream_freshness_seconds"); n != 1 {
		t.Errorf("%v changes counted", n)
	}
}

// In another partition there may be what an old delete keeps out.
func TestNothingExpiresBeforeAllIsRead(t *testing.T) {
	bus, s := streamtest.NewPartitionedBus(2), newShelf()
	publish(t, bus, "a", "b", "c", "d", "e", "f")
	end, err := bus.End(t.Context(), events.ToolsEmbedded)
	if err != nil || end[0] == 0 || end[1] == 0 {
		t.Fatalf("the topic ends at %v, %v", end, err)
	}
	unknown := true // at the start, the bus does not say where it ends
	bus.Fail(func(c streamtest.Call) error {
		if c.Op == streamtest.OpEnd && unknown {
			unknown = false
			return errors.New("away")
		}
		return nil
	})
	write(t, bus, s)
	select {
	case at := <-s.expired:
		if !maps.Equal(at, end) {
			t.Errorf("deletes expire at %v of %v", at, end)
		}
	case <-deadline(t).Done():
		t.Error("nothing expires ever")
	}
}

func TestNullRecordsMoveThePositionAlone(t *testing.T) {
	bus, s := streamtest.NewBus(), newShelf()
	null := stream.Message{Topic: events.ToolsEmbedded, Key: "default/a", Headers: map[string]string{events.HeaderRevision: "9"}}
	if err := bus.Publish(deadline(t), null); err != nil {
		t.Fatal(err)
	}
	write(t, bus, s)
	s.await(t, 1)
	if len(s.ids()) != 0 || len(bus.Published(events.DLQ)) != 0 {
		t.Errorf("applied %v, %d dead letters", s.ids(), len(bus.Published(events.DLQ)))
	}
}

func TestUnreadableRecordsAreLaidAside(t *testing.T) {
	bus, s := streamtest.NewBus(), newShelf()
	if err := bus.Publish(deadline(t), stream.Message{Topic: events.ToolsEmbedded, Key: "default/x", Value: []byte("{")}); err != nil {
		t.Fatal(err)
	}
	publish(t, bus, "a")
	write(t, bus, s)
	s.await(t, 2)
	if ids := s.ids(); len(ids) != 1 || ids[0] != "a" {
		t.Errorf("applied %v", ids)
	}
	if n := len(bus.Published(events.DLQ)); n != 1 {
		t.Errorf("%d dead letters", n)
	}
}

func TestAnIndexThatFailsIsAskedAgain(t *testing.T) {
	bus, s := streamtest.NewBus(), newShelf()
	failures := 2
	s.fail = func([]events.Change) error {
		if failures--; failures >= 0 {
			return errors.New("disk is busy")
		}
		return nil
	}
	publish(t, bus, "a")
	write(t, bus, s)
	s.await(t, 1)
	if n := len(bus.Published(events.DLQ)); n != 0 || len(s.ids()) != 1 {
		t.Errorf("%d dead letters, applied %v", n, s.ids())
	}
}

func TestAChangeThatTheIndexRefusesIsLaidAside(t *testing.T) {
	bus, s := streamtest.NewBus(), newShelf()
	s.fail = func(changes []events.Change) error {
		for _, c := range changes {
			if c.ID == "bad" {
				return stream.Permanent("index_rejected", errors.New("wrong dimension"))
			}
		}
		return nil
	}
	publish(t, bus, "a", "bad", "b")
	write(t, bus, s)
	s.await(t, 3)
	if n := len(bus.Published(events.DLQ)); n != 1 || len(s.ids()) != 2 {
		t.Errorf("%d dead letters, applied %v", n, s.ids())
	}
}
