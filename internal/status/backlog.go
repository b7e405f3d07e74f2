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

	"github.com/toolstream/toolstream/internal/health"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// errSeen ends the reading once every partition has shown its first record.
var errSeen = errors.New("seen")

// oldest returns when the oldest of the first records above from was accepted.
func (s stage) oldest(ctx context.Context, bus stream.Follower, from, ends map[int]uint64) (time.Time, error) {
	at := maps.Clone(ends) // the partitions without a backlog have nothing to show
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

// How often the backlog is measured, and how long one measurement may take.
const (
	measureEvery = 5 * time.Second
	measureLimit = 10 * time.Second
)

// Backlog measures from outside what waits before each stage, so that a stage that is
// stuck, or has no process, is seen too.
type Backlog struct {
	bus     Bus
	stages  func() []stage // into the index that is searched
	floor   time.Time      // an index that was empty at the start lacks nothing for longer
	log     *slog.Logger
	metrics *backlogMetrics
	state   health.State

	mu     sync.Mutex           // guards oldest
	oldest map[string]time.Time // by stage, when the first change that waits was accepted
}

// NewBacklog returns a backlog of the index that is searched. Started is when the
// process did.
func NewBacklog(bus Bus, live func() Live, started time.Time, log *slog.Logger, reg prometheus.Registerer) *Backlog {
	b := &Backlog{
		bus: bus, stages: func() []stage { return live().pipeline(bus) }, log: log, metrics: newBacklogMetrics(reg), oldest: map[string]time.Time{},
	}
	if len(live().Index.Positions()) == 0 {
		b.floor = started
	}
	return b
}

// Run measures until ctx ends.
func (b *Backlog) Run(ctx context.Context) error {
	tick := time.NewTicker(measureEvery)
	defer tick.Stop()
	for {
		b.measure(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// age is how long the oldest change waits before a stage, 0 if none does.
func (b *Backlog) age(stage string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	accepted := b.oldest[stage]
	if accepted.IsZero() {
		return 0
	}
	return max(0, time.Since(accepted))
}

// measure measures every stage. The age of a stage that cannot be measured grows on.
func (b *Backlog) measure(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, measureLimit)
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
	for name := range b.oldest {
		if !current[name] { // of an index that is not searched any more
			b.metrics.forget(name)
			delete(b.oldest, name)
		}
	}
	b.mu.Unlock()
	for name := range current {
		b.metrics.age.WithLabelValues(name).Set(b.age(name).Seconds())
	}
	err := errors.Join(errs...)
	if err == nil {
		b.metrics.measured.Set(float64(time.Now().Unix()))
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		b.state.Note(ctx, b.log, err, "the backlog of the stages cannot be measured", "the backlog of the stages is measured again")
	}
}

// measureStage returns when the oldest change that waits was accepted, the zero time if
// none does.
func (b *Backlog) measureStage(ctx context.Context, st stage) (time.Time, error) {
	records, from, ends, err := st.lag(ctx, b.bus)
	if err != nil {
		return time.Time{}, err
	}
	b.metrics.records.WithLabelValues(st.name, string(st.topic)).Set(float64(records))
	if len(from) == 0 {
		return time.Time{}, nil
	}
	accepted, err := st.oldest(ctx, b.bus, from, ends)
	if err == nil && accepted.Before(b.floor) {
		accepted = b.floor
	}
	return accepted, err
}

// acceptedAt returns when a caller was told that the change in m will be searchable. A
// document that is made anew waits since that was asked for.
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
