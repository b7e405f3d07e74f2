package standardizer

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/scripted"
)

// bench is a stage at work, and what refreshes its documents.
type bench struct {
	t   *testing.T
	bus *streamtest.Bus
}

// uses are fixed.
type uses map[string]float64

func (u uses) Used(_, tool string) float64 { return u[tool] }

// run works with a model for a time, with a refresher where there are uses.
func (b bench) run(model Model, answers Answers, u Uses, span time.Duration) {
	b.t.Helper()
	s, err := New(Config{Workers: 1}, Deps{Groups: b.bus, Publisher: b.bus, Model: model, Answers: answers, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, end := context.WithCancel(b.t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		if err := s.Run(ctx); err != nil {
			b.t.Error(err)
		}
	})
	if u != nil {
		r, err := NewRefresher(RefreshConfig{Rate: 1, Retry: time.Minute}, RefreshDeps{
			Wanted: s.Wanted(), Follower: b.bus, Republisher: b.bus, Publisher: b.bus, Uses: u, Now: time.Now,
			Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		})
		if err != nil {
			b.t.Fatal(err)
		}
		done.Go(func() {
			if err := r.Run(ctx); err != nil {
				b.t.Error(err)
			}
		})
	}
	time.Sleep(span)
	synctest.Wait()
	end()
	done.Wait()
}

func (b bench) publish(changes ...events.Change) {
	b.t.Helper()
	for _, c := range changes {
		m := record(b.t, c)
		m.Headers = events.Headers(&c)
		if err := b.bus.Publish(b.t.Context(), m); err != nil {
			b.t.Fatal(err)
		}
	}
}

// repeats is a model that says what the document says.
func repeats(name string) *fakeModel {
	return &fakeModel{name: name, answer: func(_ int, r llm.Request) (string, error) {
		q, err := scripted.Read(r.User + "\n" + string(r.Schema.JSON))
		if err != nil {
			return "", err
		}
		return q.JSON()
	}}
}

func asked(m *fakeModel) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, r := range m.asked {
		q, err := scripted.Read(r.User + "\n" + string(r.Schema.JSON))
		if err == nil {
			out = append(out, q.Name)
		}
	}
	return out
}

func named(id string) events.Change {
	return upsert(id, "mcp", `{"name": "`+id+`", "description": "Does what the letter says."}`)
}

func TestDocumentsAreMadeAnewTheMostUsedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bench{t, streamtest.NewPartitionedBus(1)}
		b.publish(named("a"), named("b"), named("c"), named("d"))
		answers := newStore()
		b.run(nil, nil, nil, time.Second) // by rules
		first := repeats("one")
		b.run(first, answers, uses{"c": 2, "b": 1, "d": 3}, time.Minute)
		if got := asked(first); !slices.Equal(got, []string{"d", "c", "b", "a"}) {
			t.Errorf("asked in the order %v", got)
		}
		before := standardized(t, b.bus)
		second := repeats("two")
		b.run(second, answers, uses{"a": 1}, time.Minute)
		after := standardized(t, b.bus)
		for id, c := range after {
			if o := origin(t, c); o.Model != "two" || !c.Newer(before[id].Version) || c.Revision != before[id].Revision {
				t.Errorf("%s: %+v %+v", id, c.Version, o)
			}
		}
		published := len(b.bus.Published(events.ToolsRaw))
		b.run(second, answers, uses{}, time.Hour)
		if n := len(b.bus.Published(events.ToolsRaw)); n != published || second.calls() != 4 {
			t.Errorf("%d records more and %d calls although nothing changed", n-published, second.calls())
		}
	})
}

func TestAFallbackIsMadeGoodOnceTheModelIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bench{t, streamtest.NewBus()}
		b.publish(named("a"))
		model := repeats("one")
		good, since := model.answer, time.Now()
		model.answer = func(n int, r llm.Request) (string, error) {
			if time.Since(since) < 150*time.Second {
				return "", fail(llm.Unavailable)
			}
			return good(n, r)
		}
		b.run(model, newStore(), uses{}, 140*time.Second)
		if o := origin(t, standardized(t, b.bus)["a"]); o.Fallback != schema.FallbackPending || model.calls() != 3 {
			t.Errorf("%+v, %d calls in 140 s with a retry a minute", o, model.calls())
		}
		b.run(model, newStore(), uses{}, 2*time.Minute)
		if o := origin(t, standardized(t, b.bus)["a"]); o.Fallback != "" {
			t.Errorf("%+v", o)
		}
	})
}

// TestAGoodDocumentIsNotReplacedForWantOfAModel holds that a refresh for which
// the model is away leaves what there is.
func TestAGoodDocumentIsNotReplacedForWantOfAModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bench{t, streamtest.NewBus()}
		b.publish(named("a"))
		b.run(repeats("one"), newStore(), nil, time.Second)
		b.run(&fakeModel{name: "two", answer: func(int, llm.Request) (string, error) { return "", fail(llm.Broken) }}, newStore(), uses{}, 10*time.Minute)
		if o := origin(t, standardized(t, b.bus)["a"]); o.Model != "one" || o.Fallback != "" {
			t.Errorf("%+v", o)
		}
	})
}

// TestARefreshNeverUndoesAChange changes and deletes tools while they are
// refreshed.
func TestARefreshNeverUndoesAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bench{t, streamtest.NewPartitionedBus(1)}
		b.publish(named("a"), named("b"), named("c"))
		b.run(repeats("one"), newStore(), nil, time.Second)
		newer := named("a")
		newer.Revision, newer.Raw = 8, []byte(`{"name": "a", "description": "Does something else now."}`)
		gone := named("b")
		gone.Op, gone.Revision, gone.Raw = events.OpDelete, 9, nil
		go func() {
			time.Sleep(1500 * time.Millisecond)
			b.publish(newer, gone)
		}()
		b.run(repeats("two"), newStore(), uses{"a": 3, "b": 2}, time.Minute)
		got := standardized(t, b.bus)
		if c := got["a"]; c.Revision != 8 || c.Document.Description != "Does something else now." {
			t.Errorf("%+v", c)
		}
		if got["b"].Op != events.OpDelete {
			t.Errorf("%+v", got["b"])
		}
		if o := origin(t, got["c"]); o.Model != "two" {
			t.Errorf("%+v", o)
		}
	})
}

func TestNothingIsKeptOfADeletedTool(t *testing.T) {
	r := &Refresher{rows: map[string]*row{}}
	there := named("a")
	gone := there
	gone.Op, gone.Revision = events.OpDelete, 9
	for _, c := range []events.Change{there, gone} {
		want := 0
		if c.Op == events.OpUpsert {
			want = 1
		}
		revision, err := readRevision(stream.Message{Value: []byte("{}"), Headers: events.Headers(&c)})
		if err != nil {
			t.Fatal(err)
		}
		r.update(events.Key(c.Ref), func(row *row) { row.raw = revision })
		if len(r.rows) != want {
			t.Errorf("%s: %d tools are known, want %d", c.Op, len(r.rows), want)
		}
	}
}
