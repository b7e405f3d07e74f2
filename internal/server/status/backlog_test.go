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

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
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
	value := check.Value(events.Encode(&change))(t)
	check.OK(t, p.Publish(t.Context(), stream.Message{Topic: events.ToolsRaw, Key: events.Key(change.Ref), Value: value, Headers: headers}))
}

// drain lets the reader come to the end.
func (p *place) drain(t *testing.T) {
	t.Helper()
	p.at = check.Value(p.End(t.Context(), events.ToolsRaw))(t)
}

// newTestBacklog returns a backlog of stages on a bus. The test may change the stages.
func newTestBacklog(names ...string) (*place, *Backlog) {
	p := &place{Bus: streamtest.NewPartitionedBus(2), at: map[int]uint64{}}
	return p, newBacklog(p, func() []stage {
		var stages []stage
		for _, name := range names {
			stages = append(stages, stage{name, events.ToolsRaw, func(ctx context.Context) (map[int]uint64, error) { return p.Committed(ctx, events.ToolsRaw, name) }})
		}
		return stages
	}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
}

func wantBacklog(t *testing.T, b *Backlog, stage string, age time.Duration, records int) {
	t.Helper()
	b.measure(t.Context())
	if got := valueOf(t, b.age.WithLabelValues(stage)); got != age.Seconds() {
		t.Errorf("the oldest change is of %g s ago, want %g", got, age.Seconds())
	}
	if got := valueOf(t, b.records.WithLabelValues(stage, string(events.ToolsRaw))); got != float64(records) {
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
		p, b := newTestBacklog("standardizer")
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
		p, b := newTestBacklog("standardizer")
		p.accept(t, "a", 0, nil)
		wantBacklog(t, b, "standardizer", 0, 1)
		looked := valueOf(t, b.measured)
		p.away = errors.New("away")
		time.Sleep(time.Hour)
		wantBacklog(t, b, "standardizer", time.Hour, 1)
		if got := valueOf(t, b.measured); got != looked || looked == 0 {
			t.Errorf("looked at %g, and at %g in vain", looked, got)
		}
	})
}

// What is made anew was accepted long ago, an index that is new lacks everything,
// and neither says that changes are slow.
func TestRefreshedDocumentsAreNotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, b := newTestBacklog("standardizer")
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
	stages := []string{"embedder"}
	_, b := newTestBacklog(stages...)
	b.measure(t.Context())
	stages[0] = "embedder-2"
	b.measure(t.Context())
	if ages, records := len(seriesOf(b.age)), len(seriesOf(b.records)); ages != 1 || records != 1 {
		t.Errorf("%d ages and %d lags of one stage", ages, records)
	}
}
