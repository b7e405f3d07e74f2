package ingest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const home = "default"

// wall is a wall clock that a test sets.
type wall struct{ µs atomic.Int64 }

func newWall() *wall {
	w := &wall{}
	w.µs.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMicro())
	return w
}

func (w *wall) now() time.Time                { return time.UnixMicro(w.µs.Load()) }
func (w *wall) jump(d time.Duration)          { w.µs.Add(d.Microseconds()) }
func (w *wall) revision() uint64              { return uint64(w.µs.Load()) }
func (w *wall) ago(d time.Duration) time.Time { return w.now().Add(-d) }

// start runs a service on the bus until the test ends, or until stop.
func start(t testing.TB, bus *streamtest.Bus, cfg Config, now func() time.Time) (s *Service, stop func()) {
	t.Helper()
	s = New(cfg, Deps{
		Publisher: bus, Follower: bus, Now: now,
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	return s, check.Run(t, s.Run)
}

// newService runs a service with the default configuration on a bus of its own.
func newService(t testing.TB) (*streamtest.Bus, *Service) {
	t.Helper()
	bus := streamtest.NewBus()
	s, _ := start(t, bus, Config{}, newWall().now)
	return bus, s
}

func ref(id string) schema.Ref { return schema.Ref{Tenant: home, Kind: schema.KindTool, ID: id} }

// doc returns an item whose content is text.
func doc(id, text string) formats.Item {
	raw, err := json.Marshal(map[string]string{"name": id, "description": text})
	if err != nil {
		panic(err)
	}
	return formats.Item{ID: id, Name: id, Kind: schema.KindTool, Format: "function", Raw: raw, Hash: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}
}

func versioned(item formats.Item, version uint64) formats.Item {
	item.SourceVersion = version
	return item
}

func owned(item formats.Item, provider string) formats.Item {
	item.Provider = provider
	return item
}

func gone(id string) formats.Item { return formats.Item{ID: id, Kind: schema.KindTool, Delete: true} }

// accept accepts items and returns their states, joined by spaces.
func accept(t testing.TB, s *Service, items ...formats.Item) string {
	t.Helper()
	return states(outcomes(t, s, items...))
}

// wantStates accepts items and wants their states.
func wantStates(t testing.TB, s *Service, want string, items ...formats.Item) {
	t.Helper()
	if got := accept(t, s, items...); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func outcomes(t testing.TB, s *Service, items ...formats.Item) []Outcome {
	t.Helper()
	out, err := s.Accept(t.Context(), home, items, Options{})
	if err != nil {
		t.Fatalf("Accept: %v", err)
	}
	if len(out) != len(items) {
		t.Fatalf("%d outcomes for %d items", len(out), len(items))
	}
	return out
}

func states(out []Outcome) string {
	words := make([]string, len(out))
	for i, o := range out {
		words[i] = string(o.State)
	}
	return strings.Join(words, " ")
}

// changes returns what was ever published to tools.raw, in order.
func changes(t testing.TB, bus *streamtest.Bus) []events.Change {
	t.Helper()
	var out []events.Change
	for _, m := range bus.Published(events.ToolsRaw) {
		var c events.Change
		check.OK(t, json.Unmarshal(m.Value, &c))
		if events.Key(c.Ref) != m.Key {
			t.Fatalf("key %q for %+v", m.Key, c.Ref)
		}
		out = append(out, c)
	}
	return out
}

// newest returns the last change of a tool.
func newest(t testing.TB, bus *streamtest.Bus, id string) events.Change {
	t.Helper()
	var found events.Change
	for _, c := range changes(t, bus) {
		if c.ID == id {
			found = c
		}
	}
	if found.ID == "" {
		t.Fatalf("nothing on the bus of %q", id)
	}
	return found
}
