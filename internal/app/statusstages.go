package app

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/embedder"
)

// statusPatience bounds what a status waits for: an operator wants to know what
// does not answer, not to wait for it.
const statusPatience = 2 * time.Second

// StageStatus is how far one consumer has come.
type StageStatus struct {
	Name    string       `json:"name"`
	Topic   events.Topic `json:"topic" doc:"That it reads."`
	Lag     uint64       `json:"lag" doc:"Records that it has yet to read, at most: compaction leaves gaps in the numbering."`
	Waiting float64      `json:"waiting_seconds,omitempty" doc:"How long ago the oldest of them was accepted."`
	Workers *int         `json:"workers,omitempty" doc:"Processes that share the work; absent where there is one by design."`
	Problem string       `json:"problem,omitempty" doc:"Why nothing else is known of it."`
}

// ask asks everybody at once what only they know.
func (r *reporter) ask(ctx context.Context, s *Status, live *generation) {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	stages := live.route(r.bus)
	s.Stages, s.Dependencies = make([]StageStatus, len(stages)), make([]Dependency, len(r.needs))
	var asking sync.WaitGroup
	for i, l := range stages {
		asking.Go(func() { s.Stages[i] = r.look(ctx, l) })
	}
	for i, n := range r.needs {
		asking.Go(func() { s.Dependencies[i] = n.look(ctx) })
	}
	asking.Go(func() {
		if err := within(ctx, r.ready); err != nil {
			s.Reason = err.Error()
		}
	})
	if r.others != nil {
		asking.Go(func() { s.Processes = r.others(ctx, tenant.From(ctx)) })
	}
	asking.Wait()
	s.Ready = s.Reason == ""
}

// look sees how far a stage is.
func (r *reporter) look(ctx context.Context, l leg) StageStatus {
	out := StageStatus{Name: l.stage, Topic: l.topic}
	records, from, ends, err := l.behind(ctx, r.bus)
	if err != nil {
		out.Problem = "the bus does not answer: " + err.Error()
		return out
	}
	if out.Lag = records; records > 0 {
		if first, err := l.first(ctx, r.bus, from, ends); err == nil {
			out.Waiting = max(0, time.Since(first).Seconds())
		}
	}
	out.Workers = r.workers(ctx, l)
	return out
}

// workers counts the processes that share a stage, nil where there is one by
// design.
func (r *reporter) workers(ctx context.Context, l leg) *int {
	shared, ok := r.bus.(interface {
		Members(ctx context.Context, topic events.Topic, group string) (int, error)
	})
	if !ok || strings.HasPrefix(l.stage, embedder.WriterName) {
		return nil
	}
	n, err := shared.Members(ctx, l.topic, l.stage)
	if err != nil {
		return nil
	}
	return &n
}

// Freshness is how long changes took from being accepted to being searchable.
type Freshness struct {
	Changes uint64  `json:"changes"`
	Half    float64 `json:"p50_seconds" doc:"Half of them took no longer, to the next bound of toolstream_freshness_seconds; -1: beyond the last bound."`
	Most    float64 `json:"p99_seconds" doc:"99 of a hundred took no longer, likewise."`
}

const freshnessMetric = "toolstream_freshness_seconds"

// freshness reads it off the metrics of the process, nil where nothing came yet.
func freshness(metrics prometheus.Gatherer) *Freshness {
	families, err := metrics.Gather()
	if err != nil {
		return nil
	}
	for _, f := range families {
		if f.GetName() == freshnessMetric {
			return quantiles(f.GetMetric())
		}
	}
	return nil
}

func quantiles(of []*dto.Metric) *Freshness {
	var out Freshness
	within := map[float64]uint64{}
	for _, m := range of {
		out.Changes += m.GetHistogram().GetSampleCount()
		for _, b := range m.GetHistogram().GetBucket() {
			within[b.GetUpperBound()] += b.GetCumulativeCount()
		}
	}
	if out.Changes == 0 {
		return nil
	}
	bound := func(share float64) float64 {
		least := -1.0
		for upper, n := range within {
			if float64(n) >= share*float64(out.Changes) && (least < 0 || upper < least) {
				least = upper
			}
		}
		return least
	}
	out.Half, out.Most = bound(0.5), bound(0.99)
	return &out
}
