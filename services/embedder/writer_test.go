package embedder

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// shelf is an Index in memory.
type shelf struct {
	mu        sync.Mutex
	changes   []events.Change
	positions map[int]uint64
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

// write runs a writer until the test ends, or stop is called. The bus, the index and the
// registry are added to deps.
func write(t *testing.T, bus *streamtest.Bus, s *shelf, deps WriterDeps) (reg *prometheus.Registry, stop func()) {
	t.Helper()
	reg = prometheus.NewRegistry()
	deps.Index, deps.Follower, deps.Publisher, deps.Logger, deps.Registerer = s, bus, bus, slog.New(slog.DiscardHandler), reg
	return reg, check.Run(t, NewIndexWriter(deps).Run)
}

func publish(t *testing.T, bus *streamtest.Bus, ids ...string) {
	t.Helper()
	for i, id := range ids {
		check.OK(t, bus.Publish(deadline(t), message(t, events.ToolsEmbedded, upsert(id, uint64(i+1), weather()))))
	}
}

func TestWriterGoesOnWhereTheIndexIs(t *testing.T) {
	bus, s := streamtest.NewBus(), newShelf()
	publish(t, bus, "a", "b", "c")
	s.positions[0] = 2
	write(t, bus, s, WriterDeps{})
	s.await(t, 3)
	if ids := s.ids(); len(ids) != 1 || ids[0] != "c" {
		t.Errorf("applied %v", ids)
	}
}

func TestFreshnessCountsNewsOnly(t *testing.T) {
	bus, s := streamtest.NewBus(), newShelf()
	publish(t, bus, "a", "b")
	reg, stop := write(t, bus, s, WriterDeps{})
	s.await(t, 2)
	publish(t, bus, "c")
	s.await(t, 3)
	stop()
	if n := metricOf(t, reg, "toolstream_freshness_seconds"); n != 1 {
		t.Errorf("%v changes counted", n)
	}
}

// Neither an index that is filled to be searched later nor a document made anew
// says anything about how long a change waits.
func TestFreshnessIsOfWhatIsSearchedForTheFirstTime(t *testing.T) {
	bus, s := streamtest.NewBus(), newShelf()
	var searched atomic.Bool
	reg, stop := write(t, bus, s, WriterDeps{Searched: searched.Load})
	publish(t, bus, "a")
	s.await(t, 1)
	searched.Store(true)
	again := message(t, events.ToolsEmbedded, upsert("a", 1, weather()))
	again.Headers = map[string]string{events.HeaderRefreshed: "since"}
	check.OK(t, bus.Publish(deadline(t), again))
	s.await(t, 2)
	seen := upsert("b", 1, weather())
	seen.Seen = time.Now()
	check.OK(t, bus.Publish(deadline(t), message(t, events.ToolsEmbedded, seen)))
	s.await(t, 3)
	stop()
	for _, name := range []string{"toolstream_freshness_seconds", "toolstream_source_lag_seconds"} {
		if n := metricOf(t, reg, name); n != 1 {
			t.Errorf("%s: %v changes counted", name, n)
		}
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
	write(t, bus, s, WriterDeps{})
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
	check.OK(t, bus.Publish(deadline(t), null))
	write(t, bus, s, WriterDeps{})
	s.await(t, 1)
	if len(s.ids()) != 0 || len(bus.Published(events.DLQ)) != 0 {
		t.Errorf("applied %v, %d dead letters", s.ids(), len(bus.Published(events.DLQ)))
	}
}

// newestOf is what an index that was built from a topic holds of a tool.
func newestOf(changes []events.Change, id string) schema.Version {
	var v schema.Version
	for _, c := range changes {
		if c.ID == id && c.Version.Newer(v) {
			v = c.Version
		}
	}
	return v
}

// An older change behind a newer one is asked for once, until it succeeds. What the bus puts right
// by itself, another edition, and what compaction may have reached are not.
func TestTheWriterAsksForTheNewestChange(t *testing.T) {
	newer, older := upsert("a", 2, weather()), upsert("a", 1, weather())
	edition := newer
	edition.Edition = 5
	for name, tc := range map[string]struct {
		changes []events.Change
		late    bool // the writer reads them after a day
		fails   int
		asked   int
	}{
		"in order":        {[]events.Change{older, newer}, false, 0, 0},
		"older last":      {[]events.Change{newer, upsert("b", 1, weather()), older}, false, 0, 1},
		"put right":       {[]events.Change{newer, older, newer}, false, 0, 0},
		"another edition": {[]events.Change{edition, newer}, false, 0, 0},
		"fails":           {[]events.Change{newer, older}, false, 2, 3},
		"a day ago":       {[]events.Change{newer, older}, true, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bus, s := streamtest.NewBus(), newShelf()
				bus.KeepAll()
				for _, c := range tc.changes {
					check.OK(t, bus.Publish(t.Context(), message(t, events.ToolsEmbedded, c)))
				}
				if tc.late {
					time.Sleep(stream.CompactionLag)
				}
				asked := 0
				write(t, bus, s, WriterDeps{
					Repeat: func(_ context.Context, ref schema.Ref) error {
						if asked++; ref != newer.Ref || asked <= tc.fails {
							return errors.New(ref.ID)
						}
						return nil
					},
					Newest: func(ref schema.Ref) (schema.Version, bool, bool) {
						s.mu.Lock()
						defer s.mu.Unlock()
						v := newestOf(s.changes, ref.ID)
						return v, false, !v.IsZero()
					},
				})
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if asked != tc.asked {
					t.Errorf("asked %d times, want %d", asked, tc.asked)
				}
			})
		})
	}
}
