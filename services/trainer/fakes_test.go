package trainer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/lab/simulation"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// records is a State in memory.
type records struct {
	mu     sync.Mutex
	values map[string]string
	fail   func() error // called before each Save
}

func newRecords() *records { return &records{values: map[string]string{}} }

func (r *records) Load(fn func(key string, value []byte) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(r.values)) {
		if err := fn(key, []byte(r.values[key])); err != nil {
			return err
		}
	}
	return nil
}

func (r *records) Get(key string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if value, ok := r.values[key]; ok {
		return []byte(value), nil
	}
	return nil, nil
}

func (r *records) Erase(match func(key string) bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.values, func(key, _ string) bool { return match(key) })
	return nil
}

func (r *records) Save(changes map[string][]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		if err := r.fail(); err != nil {
			return err
		}
	}
	for key, value := range changes {
		if value == nil {
			delete(r.values, key)
		} else {
			r.values[key] = string(value)
		}
	}
	return nil
}

// count returns how many records of a kind there are.
func (r *records) count(kind string) (n int) {
	for key := range r.values {
		if strings.HasPrefix(key, kind) {
			n++
		}
	}
	return n
}

// bucket is a Store in memory.
type bucket struct {
	*simulation.Bus
	fail func(key string) error // called before each write
	put  chan string            // receives every key that was written, if there is room
}

func newBucket() *bucket {
	return &bucket{Bus: simulation.NewBus(time.Time{}), put: make(chan string, 100)}
}

func (b *bucket) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	return b.Update(ctx, key, value, 0)
}

func (b *bucket) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if b.fail != nil {
		if err := b.fail(key); err != nil {
			return 0, err
		}
	}
	revision, err := b.Bus.Update(ctx, key, value, revision)
	if err != nil {
		return 0, err
	}
	select {
	case b.put <- key:
	default:
	}
	return revision, nil
}

// live returns the weights that searches of a tenant rank by, checked as searches check
// them; empty ones if none were published.
func (b *bucket) live(t *testing.T, tenant string) (w liveWeights) {
	t.Helper()
	e, err := b.Get(t.Context(), liveKey+tenant)
	if err != nil {
		return w
	}
	if _, err := decodeWeights(e.Value, &w); err != nil {
		t.Fatalf("published weights cannot rank: %v", err)
	}
	return w
}

func (b *bucket) usage(t *testing.T, tenant string) (u schema.Usage) {
	t.Helper()
	e, err := b.Get(t.Context(), usageKey+tenant)
	if err != nil {
		return u
	}
	check.OK(t, json.Unmarshal(e.Value, &u))
	check.OK(t, u.Validate())
	return u
}

// bench is a trainer with everything around it, and a clock set by hand.
type bench struct {
	*Service
	*Weights
	t       *testing.T
	state   *records
	store   *bucket
	bus     *streamtest.Bus
	now     time.Time
	offsets map[events.Topic]uint64
}

func newBench(t *testing.T, cfg Config) *bench {
	b := &bench{
		t: t, state: newRecords(), store: newBucket(), bus: streamtest.NewBus(),
		now:     time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC),
		offsets: map[events.Topic]uint64{},
	}
	b.restart(cfg)
	return b
}

// restart replaces the service by a new one on the same state and store.
func (b *bench) restart(cfg Config) {
	b.t.Helper()
	s := check.Value(New(cfg, Deps{
		Follower: b.bus, Publisher: b.bus, State: b.state, Store: b.store,
		Now: func() time.Time { return b.now }, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Registerer: prometheus.NewRegistry(),
	}))(b.t)
	b.Service, b.Weights = s, s.Weights
}

// history returns the history of a version of the tenant "default".
func (b *bench) history(w schema.Weights) History {
	b.t.Helper()
	return check.Value(b.History("default", w))(b.t)
}

func (b *bench) show(impressions ...schema.Impression) error {
	batch := make([]stream.Record[schema.Impression], len(impressions))
	for i, imp := range impressions {
		batch[i].Decoded = imp
	}
	b.offsets[events.Searches] += uint64(len(batch))
	return b.joiner.applySearches(b.t.Context(), batch, map[int]uint64{0: b.offsets[events.Searches]})
}

func (b *bench) report(list ...schema.Feedback) error {
	batch := make([]stream.Record[schema.Feedback], len(list))
	for i, f := range list {
		batch[i].Decoded = f
	}
	b.offsets[events.FeedbackTopic] += uint64(len(batch))
	return b.joiner.applyFeedback(b.t.Context(), batch, map[int]uint64{0: b.offsets[events.FeedbackTopic]})
}

func (b *bench) must(err error) {
	b.t.Helper()
	check.OK(b.t, err)
}

// advance learns and publishes two minutes later.
func (b *bench) advance() {
	b.t.Helper()
	b.now = b.now.Add(2 * time.Minute)
	b.must(b.Advance(b.t.Context()))
}

// published advances, and returns the usage of the tenant "default".
func (b *bench) published() schema.Usage {
	b.t.Helper()
	b.advance()
	return b.store.usage(b.t, "default")
}

// outcome returns how many events came to that outcome.
func (b *bench) outcome(name string) int {
	b.t.Helper()
	for _, f := range check.Value(b.deps.Registerer.(*prometheus.Registry).Gather())(b.t) {
		for _, m := range f.GetMetric() {
			if f.GetName() == "toolstream_trainer_feedback_total" && m.GetLabel()[0].GetValue() == name {
				return int(m.GetCounter().GetValue())
			}
		}
	}
	return 0
}

// impression shows tools in that order, the first with the best words and the second with
// the better description.
func (b *bench) impression(search string, tools ...string) schema.Impression {
	i := schema.Impression{SearchID: search, Tenant: "default", Time: b.now, Weights: "builtin"}
	for rank, tool := range tools {
		features := make([]float64, fusion.FeatureCount)
		features[fusion.QueryLexicalFlat] = 10 - float64(rank)
		features[fusion.QueryDenseDescription] = 0.3
		if rank == 1 {
			features[fusion.QueryDenseDescription] = 0.8
		}
		i.Shown = append(i.Shown, schema.Shown{ID: tool, Score: 10 - float64(rank), Features: features})
	}
	return i
}

// asking is an impression of a query that points along an axis.
func (b *bench) asking(search string, axis int, tools ...string) schema.Impression {
	i := b.impression(search, tools...)
	v := make([]float32, 32)
	v[axis] = 1
	i.Model, i.Vector = "m", schema.NewDirection(v)
	return i
}

func (b *bench) feedback(search, tool string, event schema.FeedbackEvent) schema.Feedback {
	return schema.Feedback{Tenant: "default", SearchID: search, ToolID: tool, Event: event, Time: b.now}
}

// search shows tools for the query of an axis and lets a client, or credential/client, call
// some of them.
func (b *bench) search(id string, axis int, client string, shown, called []string) {
	b.t.Helper()
	b.now = b.now.Add(time.Second)
	b.must(b.show(b.asking(id, axis, shown...)))
	for _, tool := range called {
		f := b.feedback(id, tool, schema.Called)
		if credential, name, named := strings.Cut(client, "/"); named {
			f.Credential, f.Client = credential, name
		} else {
			f.Client = client
		}
		b.must(b.report(f))
	}
}

// teach runs n searches, each of a query of its own, whose second result is used.
func (b *bench) teach(prefix string, n int) {
	b.t.Helper()
	b.tell(prefix, n)
	b.advance()
}

// tell is teach before anything is learned.
func (b *bench) tell(prefix string, n int) {
	b.t.Helper()
	for i := range n {
		search := fmt.Sprint(prefix, i)
		b.must(b.show(b.impression(search, "wordy", "right", "other")))
		b.must(b.report(b.feedback(search, "right", schema.Succeeded)))
	}
}
