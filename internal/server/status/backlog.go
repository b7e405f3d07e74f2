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

// How often the backlog is measured and a sample is taken, and how long one measurement may
// take.
const (
	measureEvery = SampleEvery
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

	mu     sync.Mutex           // guards the maps, which are by stage
	oldest map[string]time.Time // when the first change that waits was accepted
	places map[string]places
}

// places is where a stage was, when it was measured last and the time before.
type places struct{ before, now *reached }

// reached is where a stage and its topic are, in records of all partitions.
type reached struct {
	at        time.Time
	done, end uint64
}

// rate returns how many records a second something grew by, nil where that is not known.
func (p places) rate(of func(*reached) uint64) *float64 {
	if p.before == nil || p.now == nil || !p.now.at.After(p.before.at) || of(p.now) < of(p.before) {
		return nil
	}
	rate := float64(of(p.now)-of(p.before)) / p.now.at.Sub(p.before.at).Seconds()
	return &rate
}

func done(r *reached) uint64 { return r.done }
func end(r *reached) uint64  { return r.end }

// NewBacklog returns a backlog of the index that is searched. Started is when the
// process did.
func NewBacklog(bus Bus, live func() Live, started time.Time, log *slog.Logger, reg prometheus.Registerer) *Backlog {
	b := &Backlog{
		bus: bus, stages: func() []stage { return live().pipeline(bus) }, log: log, metrics: newBacklogMetrics(reg), oldest: map[string]time.Time{}, places: map[string]places{},
	}
	if len(live().Index.Positions()) == 0 {
		b.floor = started
	}
	return b
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

// pace returns how many records a second a stage works on, nil where that is not known.
func (b *Backlog) pace(stage string) *float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.places[stage].rate(done)
}

// waiting returns how many records all stages have yet to read, nil where that is not known.
func (b *Backlog) waiting() *uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	var sum uint64
	for _, p := range b.places {
		if p.now == nil {
			return nil
		}
		sum += p.now.end - p.now.done
	}
	if len(b.places) == 0 {
		return nil
	}
	return &sum
}

// move notes where a stage is; nil: that could not be asked.
func (b *Backlog) move(stage string, to *reached) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.places[stage] = places{b.places[stage].now, to}
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
	for name := range b.places {
		if !current[name] { // of an index that is not searched any more
			b.metrics.forget(name)
			delete(b.oldest, name)
			delete(b.places, name)
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
		b.move(st.name, nil)
		return time.Time{}, err
	}
	now := reached{at: time.Now()}
	for _, n := range ends {
		now.end += n
	}
	now.done = now.end - records
	b.move(st.name, &now)
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
