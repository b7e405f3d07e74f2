package status

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// place is a bus of two partitions and how far its one reader has come.
type place struct {
	*streamtest.Bus
	at   map[int]uint64
	away error
}

func (p *place) Committed(context.Context, events.Topic, string) (map[int]uint64, error) {
	return maps.Clone(p.at), p.away
}

// accept puts a change on the bus that was accepted so long ago.
func (p *place) accept(t *testing.T, id string, ago time.Duration, headers map[string]string) {
	t.Helper()
	change := events.Change{
		Schema: events.ChangeSchema, Op: events.OpDelete, Accepted: time.Now().Add(-ago),
		Ref: schema.Ref{Tenant: "default", Kind: schema.KindTool, ID: id},
	}
	value, err := events.Encode(&change)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Publish(t.Context(), stream.Message{Topic: events.ToolsRaw, Key: events.Key(change.Ref), Value: value, Headers: headers}); err != nil {
		t.Fatal(err)
	}
}

// drain lets the reader come to the end.
func (p *place) drain(t *testing.T) {
	t.Helper()
	ends, err := p.End(t.Context(), events.ToolsRaw)
	if err != nil {
		t.Fatal(err)
	}
	p.at = ends
}

func newTestBacklog(p *place, names *[]string) *Backlog {
	return &Backlog{bus: p, log: slog.New(slog.DiscardHandler), metrics: newBacklogMetrics(prometheus.NewRegistry()), oldest: map[string]time.Time{}, places: map[string]places{}, stages: func() []stage {
		var stages []stage
		for _, name := range *names {
			stages = append(stages, stage{name, events.ToolsRaw, func(ctx context.Context) (map[int]uint64, error) { return p.Committed(ctx, events.ToolsRaw, name) }})
		}
		return stages
	}}
}

func wantBacklog(t *testing.T, b *Backlog, stage string, age time.Duration, records int) {
	t.Helper()
	b.measure(t.Context())
	if got := valueOf(t, b.metrics.age.WithLabelValues(stage)); got != age.Seconds() {
		t.Errorf("the oldest change is of %g s ago, want %g", got, age.Seconds())
	}
	if got := valueOf(t, b.metrics.records.WithLabelValues(stage, string(events.ToolsRaw))); got != float64(records) {
		t.Errorf("%g records wait, want %d", got, records)
	}
}

// seriesOf returns what a collector shows.
func seriesOf(c prometheus.Collector) []*dto.Metric {
	all := make(chan prometheus.Metric, 10)
	c.Collect(all)
	close(all)
	var out []*dto.Metric
	for m := range all {
		var one dto.Metric
		if m.Write(&one) == nil {
			out = append(out, &one)
		}
	}
	return out
}

func valueOf(t *testing.T, g prometheus.Collector) float64 {
	t.Helper()
	all := seriesOf(g)
	if len(all) != 1 {
		t.Fatalf("%d series", len(all))
	}
	return all[0].GetGauge().GetValue()
}

// The age grows while nobody works, whatever else arrives, and is nothing once
// everything is done.
func TestTheOldestChangeAgesUntilItIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stages := &place{Bus: streamtest.NewPartitionedBus(2), at: map[int]uint64{}}, []string{"standardizer"}
		b := newTestBacklog(p, &stages)
		wantBacklog(t, b, "standardizer", 0, 0)
		for _, id := range []string{"a", "b", "c", "d", "e", "f"} { // in both partitions
			p.accept(t, id, time.Minute, nil)
		}
		p.accept(t, "late", 0, nil)
		wantBacklog(t, b, "standardizer", time.Minute, 7)
		time.Sleep(time.Hour)
		p.accept(t, "later", 0, nil)
		wantBacklog(t, b, "standardizer", time.Hour+time.Minute, 8)
		p.drain(t)
		wantBacklog(t, b, "standardizer", 0, 0)
	})
}

// An outage stops neither the clock nor what was known, and is seen.
func TestTheOldestChangeAgesThroughAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stages := &place{Bus: streamtest.NewPartitionedBus(2), at: map[int]uint64{}}, []string{"standardizer"}
		b := newTestBacklog(p, &stages)
		p.accept(t, "a", 0, nil)
		wantBacklog(t, b, "standardizer", 0, 1)
		looked := valueOf(t, b.metrics.measured)
		p.away = errors.New("away")
		time.Sleep(time.Hour)
		wantBacklog(t, b, "standardizer", time.Hour, 1)
		if got := valueOf(t, b.metrics.measured); got != looked || looked == 0 {
			t.Errorf("looked at %g, and at %g in vain", looked, got)
		}
	})
}

// What is made anew was accepted long ago, an index that is new lacks everything,
// and neither says that changes are slow.
func TestOldNewsAreNotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stages := &place{Bus: streamtest.NewPartitionedBus(2), at: map[int]uint64{}}, []string{"standardizer"}
		b := newTestBacklog(p, &stages)
		p.accept(t, "a", 1000*time.Hour, map[string]string{events.HeaderRefresh: "prompt"})
		time.Sleep(time.Minute)
		wantBacklog(t, b, "standardizer", time.Minute, 1)
		p.drain(t)
		b.floor = time.Now()
		p.accept(t, "b", 1000*time.Hour, nil)
		time.Sleep(time.Second)
		wantBacklog(t, b, "standardizer", time.Second, 1)
	})
}

// Once another index version is searched, the stages of the one before are not on the
// way.
func TestStagesThatAreLeftAreForgotten(t *testing.T) {
	p, stages := &place{Bus: streamtest.NewPartitionedBus(2), at: map[int]uint64{}}, []string{"embedder"}
	b := newTestBacklog(p, &stages)
	b.measure(t.Context())
	stages = []string{"embedder-2"}
	b.measure(t.Context())
	if ages, records := len(seriesOf(b.metrics.age)), len(seriesOf(b.metrics.records)); ages != 1 || records != 1 {
		t.Errorf("%d ages and %d lags of one stage", ages, records)
	}
}
