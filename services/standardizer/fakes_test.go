package standardizer

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// fakeModel answers by a function.
type fakeModel struct {
	name string

	mu     sync.Mutex
	asked  []llm.Request
	answer func(n int, r llm.Request) (string, error) // n counts from 1
}

func (m *fakeModel) Name() string { return m.name }

func (m *fakeModel) Complete(ctx context.Context, r llm.Request) (llm.Answer, error) {
	m.mu.Lock()
	m.asked = append(m.asked, r)
	n := len(m.asked)
	m.mu.Unlock()
	if ctx.Err() != nil {
		return llm.Answer{}, ctx.Err()
	}
	said, err := m.answer(n, r)
	return llm.Answer{JSON: []byte(said), Model: m.name}, err
}

func (m *fakeModel) calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.asked)
}

// store is Answers in memory.
type store struct {
	mu   sync.Mutex
	kept map[string][]byte
	err  error
}

func newStore() *store { return &store{kept: map[string][]byte{}} }

func (s *store) Get(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	if v, ok := s.kept[key]; ok {
		return v, nil
	}
	return nil, stream.ErrNotFound
}

func (s *store) Put(_ context.Context, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.kept[key] = value
	}
	return s.err
}

func (s *store) snapshot() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.kept)
}

// began is the clock of tests.
var began = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

// service returns the stage on a bus.
func service(t *testing.T, bus *streamtest.Bus, c Config, model Model, answers Answers) *Service {
	t.Helper()
	s, err := New(c, Deps{
		Groups: bus, Publisher: bus, Model: model, Answers: answers, Now: func() time.Time { return began },
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// made runs the stage over changes and returns the documents by id.
func made(t *testing.T, c Config, model Model, answers Answers, changes ...events.Change) map[string]events.Change {
	t.Helper()
	bus := streamtest.NewBus()
	s := service(t, bus, c, model, answers)
	for _, change := range changes {
		if err := bus.Publish(t.Context(), record(t, change)); err != nil {
			t.Fatal(err)
		}
	}
	drain(t, bus, s)
	return standardized(t, bus)
}

// drain runs the stage until it has committed all that is on the bus.
func drain(t *testing.T, bus *streamtest.Bus, s *Service) {
	t.Helper()
	ends, err := bus.End(t.Context(), events.ToolsRaw)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	run, end := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.Run(run) }()
	if err := bus.Await(ctx, func() bool { return bus.Committed(events.ToolsRaw, Name)[0] == ends[0] }); err != nil {
		t.Fatal(err)
	}
	end()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func standardized(t *testing.T, bus *streamtest.Bus) map[string]events.Change {
	t.Helper()
	out := map[string]events.Change{}
	for _, m := range bus.Messages(events.ToolsStandardized) {
		c, err := events.Decode[events.Change](m.Value)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", c.ID, err)
		}
		out[c.ID] = c
	}
	return out
}

func fail(kind llm.Kind) error {
	return &llm.Error{Kind: kind, Text: "so it said", Err: context.DeadlineExceeded}
}

func origin(t *testing.T, c events.Change) schema.Origin {
	t.Helper()
	if c.Document == nil || c.Document.Standardized == nil {
		t.Fatalf("%s has no origin", c.ID)
	}
	return *c.Document.Standardized
}
