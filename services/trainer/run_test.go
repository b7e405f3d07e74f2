package trainer

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/trainerstore"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/stream/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// TestRunFromBusToStore runs the service as it is run, stops it in the middle
// and starts another one on the same files.
func TestRunFromBusToStore(t *testing.T) {
	bus, store := streamtest.NewPartitionedBus(3), newShelf()
	path := filepath.Join(t.TempDir(), "trainer.db")
	cfg := quick()
	cfg.Settle, cfg.Tick, cfg.Publish = time.Millisecond, time.Millisecond, time.Millisecond

	for run := range 2 {
		stop := start(t, cfg, bus, store, path)
		publish(t, bus, fmt.Sprint("run", run))
		for key := range store.put {
			if key == "weights.live.default" {
				break
			}
		}
		stop()
		if w, _ := store.weights(t, "weights.live.default"); w.Epoch == 0 {
			t.Fatalf("no weights after run %d", run)
		}
	}
	// Whatever the first run did not get to, the second did; nothing twice.
	stop := start(t, cfg, bus, store, path)
	defer stop()
	for {
		if prior := store.usage(t, "default").Prior["right"]; prior > 3.7 && prior < 3.72 { // log(1 + 40)
			return
		} else if prior > 3.72 {
			t.Fatalf("40 uses are log(1 + n) = %v", prior)
		}
		select {
		case <-store.put:
		case <-t.Context().Done():
			t.Fatal("not everything was counted")
		}
	}
}

// start runs a trainer and returns what stops it and waits for it.
func start(t *testing.T, cfg Config, bus *streamtest.Bus, store *shelf, path string) (stop func()) {
	t.Helper()
	state, err := trainerstore.Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(cfg, Deps{
		Follower: bus, Publisher: bus, State: state, Store: store, Now: time.Now,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := state.Close(); err != nil {
			t.Error(err)
		}
	}
}

// publish puts twenty searches and their feedback on the bus, with a record
// between them that nobody can read.
func publish(t *testing.T, bus *streamtest.Bus, prefix string) {
	t.Helper()
	b := &bench{t: t, now: time.Now().UTC()}
	var msgs []stream.Message
	for i := range 20 {
		search := fmt.Sprint(prefix, "-", i)
		imp, f := b.impression(search, "wordy", "right", "other"), b.feedback(search, "right", schema.Called)
		shown, err := events.EncodeImpression(&imp)
		b.must(err)
		used, err := events.EncodeFeedback(&f)
		b.must(err)
		key := events.SearchKey("default", search)
		msgs = append(msgs,
			stream.Message{Topic: events.FeedbackTopic, Key: key, Value: used},
			stream.Message{Topic: events.FeedbackTopic, Key: key, Value: used},
			stream.Message{Topic: events.Searches, Key: key, Value: shown})
	}
	msgs = append(msgs, stream.Message{Topic: events.Searches, Key: "default/bad", Value: []byte(`{"schema":99}`)})
	b.must(bus.Publish(context.Background(), msgs...))
}

// An impression of whoever can write to the bus must not hold up the others:
// a key that no store takes would be tried again for ever.
func TestAnImpressionThatCanNotBeStoredIsPassedOver(t *testing.T) {
	state, err := trainerstore.Open(filepath.Join(t.TempDir(), "trainer.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	bus := streamtest.NewBus()
	s, err := New(Config{}, Deps{
		Follower: bus, Publisher: bus, State: state, Store: newShelf(), Now: time.Now,
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, now: time.Now().UTC()}
	var records []stream.Record[schema.Impression]
	for _, id := range []string{strings.Repeat("x", 1<<16), "a\x00b", "good"} {
		records = append(records, stream.Record[schema.Impression]{Decoded: b.impression(id, "wordy", "right", "other")})
	}
	if err := s.applySearches(t.Context(), records, map[int]uint64{0: 3}); err != nil {
		t.Fatal(err)
	}
	if known, err := state.Get(keySearch + "default/good"); err != nil || known == nil {
		t.Errorf("the good one: %q, %v", known, err)
	}
}
