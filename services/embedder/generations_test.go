package embedder

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/stream/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
)

// Two generations work side by side on one bus: each reads everything that was
// standardized, under a name of its own, and writes and follows a topic of its own.
func TestGenerationsWorkSideBySide(t *testing.T) {
	bus := streamtest.NewBus()
	first := upsert("weather", 1, weather())
	if err := bus.Publish(deadline(t), message(t, events.ToolsStandardized, first)); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 2; n++ {
		reg := prometheus.NewRegistry()
		s, err := New(Config{Generation: n}, Deps{
			Model: &model{}, Groups: bus, Publisher: bus, Ends: bus, Logger: slog.New(slog.DiscardHandler), Registerer: reg,
		})
		if err != nil {
			t.Fatal(err)
		}
		index := newShelf()
		w, err := NewIndexWriter(WriterDeps{
			Generation: n, Index: index, Follower: bus, Publisher: bus, Logger: slog.New(slog.DiscardHandler), Registerer: reg,
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, s.Run)
		run(t, w.Run)
		index.await(t, 1)
		if ids := index.ids(); !slices.Equal(ids, []string{"weather"}) {
			t.Errorf("generation %d has %v", n, ids)
		}
		if got := len(bus.Published(events.Embedded(n))); got != 1 {
			t.Errorf("generation %d has %d records on %s", n, got, events.Embedded(n))
		}
	}
	if got := len(bus.Published(events.ToolsEmbedded)); got != 1 {
		t.Errorf("the second generation wrote on the first one's topic: %d records", got)
	}
}
