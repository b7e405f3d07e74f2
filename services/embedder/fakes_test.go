package embedder

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"log/slog"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model is a Model of 4 dimensions whose vectors depend on the text alone. The
// outcome of a text can be replaced; gate, if set, holds every call.
type model struct {
	gate chan struct{}

	mu    sync.Mutex
	calls [][]string
	fault func(texts []string) ([][]float32, error) // nil results: as usual
}

func (m *model) Name() string    { return "fake-4" }
func (m *model) Dimensions() int { return 4 }

func (m *model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	m.mu.Lock()
	m.calls = append(m.calls, slices.Clone(texts))
	fault := m.fault
	m.mu.Unlock()
	if m.gate != nil {
		select {
		case <-m.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if fault != nil {
		if out, err := fault(texts); out != nil || err != nil {
			return out, err
		}
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = vectorOf(text)
	}
	return out, nil
}

func (m *model) texts() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Concat(m.calls...)
}

// vectorOf is not of unit length: that is for the service to see to.
func vectorOf(text string) []float32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	sum := h.Sum32()
	return []float32{1, float32(sum & 0xff), float32(sum >> 8 & 0xff), float32(sum >> 16 & 0xff)}
}

// stored is a Cache that a test fills.
type stored map[schema.Ref]events.Change

func (s stored) Previous(ref schema.Ref) (schema.Document, events.Vectors, bool) {
	c, ok := s[ref]
	if !ok {
		return schema.Document{}, events.Vectors{}, false
	}
	return *c.Document, *c.Vectors, true
}

// stage is a service at work on a bus.
type stage struct {
	*Service
	bus   *streamtest.Bus
	model *model
	reg   *prometheus.Registry
}

func start(t *testing.T, m Model, cache Cache) *stage {
	t.Helper()
	s := &stage{bus: streamtest.NewBus(), reg: prometheus.NewRegistry()}
	s.model, _ = m.(*model)
	var err error
	s.Service, err = New(Config{Texts: 16, Parallel: 2}, Deps{
		Model: m, Cache: cache, Groups: s.bus, Publisher: s.bus,
		Logger: slog.New(slog.DiscardHandler), Registerer: s.reg,
	})
	check.OK(t, err)
	check.Run(t, s.Service.Run)
	return s
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func upsert(id string, revision uint64, doc schema.Document) events.Change {
	return events.Change{
		Schema: events.ChangeSchema, Ref: schema.Ref{Tenant: "default", Kind: schema.KindTool, ID: id},
		Version: schema.Version{Revision: revision}, Op: events.OpUpsert,
		Accepted: time.Now(), Raw: json.RawMessage(`{"raw":true}`), Document: &doc,
	}
}

func message(t testing.TB, topic events.Topic, c events.Change) stream.Message {
	t.Helper()
	value := check.Value(json.Marshal(c))(t)
	return stream.Message{Topic: topic, Key: events.Key(c.Ref), Value: value, Headers: map[string]string{"traceparent": "00-1"}}
}

// put publishes changes for the stage and waits until each is embedded or
// dead.
func (s *stage) put(t *testing.T, changes ...events.Change) {
	t.Helper()
	want := s.done() + len(changes)
	msgs := make([]stream.Message, len(changes))
	for i, c := range changes {
		msgs[i] = message(t, events.ToolsStandardized, c)
	}
	check.OK(t, s.bus.Publish(deadline(t), msgs...))
	if err := s.bus.Await(deadline(t), func() bool { return s.done() >= want }); err != nil {
		t.Fatalf("%d of %d changes came through: %v", s.done(), want, err)
	}
}

func (s *stage) done() int {
	return len(s.bus.Published(events.ToolsEmbedded)) + len(s.bus.Published(events.DLQ))
}

func (s *stage) embedded(t *testing.T, id string) events.Change {
	t.Helper()
	for _, m := range slices.Backward(s.bus.Published(events.ToolsEmbedded)) {
		c := check.Value(decode(m))(t)
		if c.ID == id {
			if m.Headers["traceparent"] != "00-1" {
				t.Errorf("headers of %s are %v", id, m.Headers)
			}
			return c
		}
	}
	t.Fatalf("%s is not on %s", id, events.ToolsEmbedded)
	return events.Change{}
}

func (s *stage) wantLetter(t *testing.T, key, reason string) {
	t.Helper()
	if l := s.letter(t, key); l.Reason != reason {
		t.Errorf("the dead letter of %s is %+v, want %s", key, l, reason)
	}
}

// letter returns the dead letter with an id, or of a key.
func (s *stage) letter(t *testing.T, key string) (found events.DeadLetter) {
	t.Helper()
	for _, m := range s.bus.Published(events.DLQ) {
		var l events.DeadLetter
		check.OK(t, json.Unmarshal(m.Value, &l))
		if l.ID == key || l.Key == key {
			found = l
		}
	}
	return found
}

func weather() schema.Document {
	return schema.Document{
		Name: "getForecast", Description: "Tells the weather of tomorrow.", Response: "Temperature and rain.",
		Examples: []string{"will it rain in Lisbon", "weather for the weekend"},
		Parameters: []schema.Parameter{
			{Name: "city", Type: "string", Required: true, Description: "where"},
			{Name: "days", Type: "integer", Description: "how far ahead"},
		},
	}
}

func cosineOf(v events.Vector, text string) float64 {
	var dot, vv, ww float64
	for i, x := range vectorOf(text) {
		if i >= len(v) {
			return 0
		}
		dot, vv, ww = dot+float64(v[i])*float64(x), vv+float64(v[i])*float64(v[i]), ww+float64(x)*float64(x)
	}
	return dot / math.Sqrt(vv*ww)
}

func metricOf(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families := check.Value(reg.Gather())(t)
	var sum float64
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			sum += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum
}
