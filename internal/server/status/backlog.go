package status

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/events"
)

// measureTimeout bounds one measurement of the backlog.
const measureTimeout = 10 * time.Second

// Backlog measures the records before each stage from outside, so that it also sees a stage that
// is stuck or has no process.
type Backlog struct {
	bus    Bus
	stages func() []stage // into the index that searches use
	floor  time.Time      // an index that was empty at the start has no older backlog
	log    *slog.Logger
	state  lifecycle.Health

	age      *prometheus.GaugeVec
	records  *prometheus.GaugeVec
	measured prometheus.Gauge

	mu       sync.Mutex           // guards the maps, which are by stage
	oldest   map[string]time.Time // when the oldest record before the stage was accepted
	progress map[string]progress
}

// progress has the last two measurements of a stage, nil for one that failed.
type progress struct{ before, now *measurement }

// measurement has the positions of a stage and its topic, in records of all partitions.
type measurement struct {
	at        time.Time
	done, end uint64
}

// rate returns the growth of a position in records per second, nil if unknown.
func (p progress) rate(position func(*measurement) uint64) *float64 {
	if p.before == nil || p.now == nil || !p.now.at.After(p.before.at) || position(p.now) < position(p.before) {
		return nil
	}
	rate := float64(position(p.now)-position(p.before)) / p.now.at.Sub(p.before.at).Seconds()
	return &rate
}

func done(m *measurement) uint64 { return m.done }
func end(m *measurement) uint64  { return m.end }

// NewBacklog returns the backlog of the index that searches use, in a process that started at a
// time.
func NewBacklog(bus Bus, live func() Live, started time.Time, log *slog.Logger, reg prometheus.Registerer) *Backlog {
	b := newBacklog(bus, func() []stage { return live().pipeline(bus) }, log, reg)
	if len(live().Index.Positions()) == 0 {
		b.floor = started
	}
	return b
}

func newBacklog(bus Bus, stages func() []stage, log *slog.Logger, reg prometheus.Registerer) *Backlog {
	on := telemetry.Metrics(reg)
	return &Backlog{
		bus: bus, stages: stages, log: log, oldest: map[string]time.Time{}, progress: map[string]progress{},
		age: on.NewGaugeVec("toolstream_oldest_change_age_seconds",
			"Age of the oldest change that is not searchable yet, by the stage it waits for; 0 without a backlog. It also grows while no stage runs.",
			[]string{"stage"}),
		records: on.NewGaugeVec("toolstream_backlog_records",
			"Records between the position of a stage (the name of its group) and the end of its topic; an upper bound on a compacted topic.",
			[]string{"stage", "topic"}),
		measured: on.NewGauge("toolstream_backlog_looked_timestamp_seconds", "Time of the last measurement of all stages."),
	}
}

// waits returns how long the oldest change waits before a stage, 0 without a backlog.
func (b *Backlog) waits(stage string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	accepted := b.oldest[stage]
	if accepted.IsZero() {
		return 0
	}
	return max(0, time.Since(accepted))
}

// rate returns how fast a position of a stage moves, in records per second, nil if unknown.
func (b *Backlog) rate(stage string, position func(*measurement) uint64) *float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.progress[stage].rate(position)
}

// lag returns how many records all stages have yet to read, nil if unknown.
func (b *Backlog) lag() *uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	var sum uint64
	for _, p := range b.progress {
		if p.now == nil {
			return nil
		}
		sum += p.now.end - p.now.done
	}
	if len(b.progress) == 0 {
		return nil
	}
	return &sum
}

// add adds a measurement, nil if it failed.
func (b *Backlog) add(stage string, m *measurement) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.progress[stage] = progress{b.progress[stage].now, m}
}

// measure measures every stage. If that fails, the age of its oldest record still grows.
func (b *Backlog) measure(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, measureTimeout)
	defer cancel()
	var errs []error
	current := map[string]bool{}
	for _, st := range b.stages() {
		current[st.name] = true
		accepted, err := b.measureStage(ctx, st)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", st.name, err))
			continue
		}
		b.mu.Lock()
		b.oldest[st.name] = accepted
		b.mu.Unlock()
	}
	b.mu.Lock()
	for name := range b.progress {
		if !current[name] { // of an index that searches do not use any more
			b.age.DeletePartialMatch(prometheus.Labels{"stage": name})
			b.records.DeletePartialMatch(prometheus.Labels{"stage": name})
			delete(b.oldest, name)
			delete(b.progress, name)
		}
	}
	b.mu.Unlock()
	for name := range current {
		b.age.WithLabelValues(name).Set(b.waits(name).Seconds())
	}
	err := errors.Join(errs...)
	if err == nil {
		b.measured.Set(float64(time.Now().Unix()))
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		b.state.LogChange(ctx, b.log, err, "the backlog of the stages cannot be measured", "the backlog of the stages is measured again")
	}
}

// measureStage returns when the oldest change before a stage was accepted, the zero time without
// a backlog.
func (b *Backlog) measureStage(ctx context.Context, st stage) (time.Time, error) {
	records, from, ends, err := st.lag(ctx, b.bus)
	if err != nil {
		b.add(st.name, nil)
		return time.Time{}, err
	}
	now := measurement{at: time.Now()}
	for _, n := range ends {
		now.end += n
	}
	now.done = now.end - records
	b.add(st.name, &now)
	b.records.WithLabelValues(st.name, string(st.topic)).Set(float64(records))
	if len(from) == 0 {
		return time.Time{}, nil
	}
	accepted, err := st.oldest(ctx, b.bus, from, ends)
	if err == nil && accepted.Before(b.floor) {
		accepted = b.floor
	}
	return accepted, err
}

// errSeen ends the reading once the first record of every partition was read.
var errSeen = errors.New("seen")

// oldest returns when the oldest record was accepted, among the first of each partition from a
// position on.
func (s stage) oldest(ctx context.Context, bus stream.Follower, from, ends map[int]uint64) (time.Time, error) {
	at := maps.Clone(ends) // partitions without a backlog are not read
	maps.Copy(at, from)
	seen := map[int]time.Time{}
	err := bus.Follow(ctx, s.topic, at, func(_ context.Context, msgs []stream.Message) error {
		for _, m := range msgs {
			if _, waits := from[m.Partition]; !waits {
				continue
			}
			if _, done := seen[m.Partition]; !done {
				seen[m.Partition] = acceptedAt(m)
			}
		}
		if len(seen) == len(from) {
			return errSeen
		}
		return nil
	})
	if !errors.Is(err, errSeen) {
		return time.Time{}, fmt.Errorf("read %s: %w", s.topic, errors.Join(err, ctx.Err()))
	}
	return slices.MinFunc(slices.Collect(maps.Values(seen)), time.Time.Compare), nil
}

// acceptedAt returns when the change in m was accepted. A document that is refreshed waits since
// its refresh was published.
func acceptedAt(m stream.Message) time.Time {
	if m.Headers[events.HeaderRefresh] != "" || m.Headers[events.HeaderRefreshed] != "" || m.IsNull() {
		return m.Time
	}
	change, err := events.Decode[events.Change](m.Value)
	if err != nil || change.Accepted.IsZero() {
		return m.Time
	}
	return change.Accepted
}
