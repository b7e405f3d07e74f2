package standardizer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sourcegraph/conc/iter"

	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// fakeModel answers by a function.
type fakeModel struct {
	name  string
	takes atomic.Int64 // nanoseconds for an answer

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
	select {
	case <-ctx.Done():
		return llm.Answer{}, ctx.Err()
	case <-time.After(time.Duration(m.takes.Load())):
	}
	said, err := m.answer(n, r)
	return llm.Answer{JSON: []byte(said), Model: m.name}, err
}

func (m *fakeModel) calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.asked)
}

// documents returns what makes documents at once.
func documents(t *testing.T, c Config, model llm.Model, answers Answers) *Documents {
	t.Helper()
	return check.Value(NewDocuments(c, Deps{
		Model: model, Answers: answers, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	}))(t)
}

// made gives changes their documents, and returns them by id.
func made(t *testing.T, c Config, model llm.Model, answers Answers, changes ...events.Change) map[string]events.Change {
	t.Helper()
	d := documents(t, c, model, answers)
	out, errs := slices.Clone(changes), make([]error, len(changes))
	iter.Iterator[events.Change]{MaxGoroutines: testWorkers}.ForEachIdx(out, func(i int, c *events.Change) {
		errs[i] = errors.Join(d.Standardize(t.Context(), c), c.Validate())
	})
	check.OK(t, errors.Join(errs...))
	byID := map[string]events.Change{}
	for _, c := range out {
		byID[c.ID] = c
	}
	return byID
}

func standardized(t *testing.T, bus *streamtest.Bus) map[string]events.Change {
	t.Helper()
	out := map[string]events.Change{}
	for _, m := range bus.Messages(events.ToolsStandardized) {
		c := check.Value(events.Decode[events.Change](m.Value))(t)
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
