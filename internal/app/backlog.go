package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/standardizer"
)

// committed is the bus as those see it who ask how far its readers have come.
type committed interface {
	stream.Ends
	// Committed returns how far a group has come in each partition.
	Committed(ctx context.Context, topic events.Topic, group string) (map[int]uint64, error)
}

// leg is one stage of the way from acceptance to being searchable.
type leg struct {
	stage string
	topic events.Topic // that it reads
	read  func(context.Context) (map[int]uint64, error)
}

// route returns the way into the index of a generation, in the order of the flow:
// what is not in the index waits before one of its stages.
func (g *generation) route(bus committed) []leg {
	by := func(stage string, topic events.Topic) leg {
		return leg{stage, topic, func(ctx context.Context) (map[int]uint64, error) { return bus.Committed(ctx, topic, stage) }}
	}
	return []leg{
		by(standardizer.Name, events.ToolsRaw),
		by(events.Numbered(embedder.StageName, g.Number), events.ToolsStandardized),
		{
			events.Numbered(embedder.WriterName, g.Number), events.Embedded(g.Number),
			func(context.Context) (map[int]uint64, error) { return g.index.Positions(), nil },
		},
	}
}

// behind returns how many records a stage has yet to read, and from where on in
// each partition that has some.
func (l leg) behind(ctx context.Context, bus stream.Ends) (records uint64, from, ends map[int]uint64, err error) {
	if ends, err = bus.End(ctx, l.topic); err != nil {
		return 0, nil, nil, err
	}
	at, err := l.read(ctx)
	if err != nil {
		return 0, nil, nil, err
	}
	from = map[int]uint64{}
	for partition, end := range ends {
		if end > at[partition] {
			records += end - at[partition]
			from[partition] = at[partition]
		}
	}
	return records, from, ends, nil
}

// errRead ends the reading once every partition has shown its first record.
var errRead = errors.New("read")

// first returns when the oldest of the first records above from was accepted.
func (l leg) first(ctx context.Context, bus stream.Follower, from, ends map[int]uint64) (time.Time, error) {
	at := maps.Clone(ends) // the partitions without a backlog have nothing to show
	maps.Copy(at, from)
	seen := map[int]time.Time{}
	err := bus.Follow(ctx, l.topic, at, func(_ context.Context, msgs []stream.Message) error {
		for _, m := range msgs {
			if _, waits := from[m.Partition]; !waits {
				continue
			}
			if _, done := seen[m.Partition]; !done {
				seen[m.Partition] = acceptedAt(m)
			}
		}
		if len(seen) == len(from) {
			return errRead
		}
		return nil
	})
	if !errors.Is(err, errRead) {
		return time.Time{}, fmt.Errorf("read %s: %w", l.topic, errors.Join(err, ctx.Err()))
	}
	return slices.MinFunc(slices.Collect(maps.Values(seen)), time.Time.Compare), nil
}

// How often the way is looked at, and how long one look may take.
const (
	lookEvery = 5 * time.Second
	lookLimit = 10 * time.Second
)

// backlogBus is what a backlog needs of the bus.
type backlogBus interface {
	committed
	stream.Follower
}

// backlog measures from outside what waits before each stage, so that it is seen
// too if a stage is stuck or none of its processes runs.
type backlog struct {
	bus     backlogBus
	route   func() []leg // into the index that is searched
	floor   time.Time    // an index that was empty at the start lacks nothing for longer
	log     *slog.Logger
	metrics *backlogMetrics

	oldest map[string]time.Time // by stage, when the first change that waits was accepted
	failed bool
}

func (b *base) newBacklog(on backlogBus, f *fleet) (part, error) {
	m, err := newBacklogMetrics(b.metrics)
	if err != nil {
		return part{}, err
	}
	l := &backlog{bus: on, route: func() []leg { return f.Live().route(on) }, log: b.log, metrics: m, oldest: map[string]time.Time{}}
	if len(f.Live().index.Positions()) == 0 {
		l.floor = b.started
	}
	return part{"backlog", l.run}, nil
}

func (b *backlog) run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		b.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look measures every stage. What can not be learned is taken to wait on: its age
// grows.
func (b *backlog) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	var errs []error
	current := map[string]bool{}
	for _, l := range b.route() {
		current[l.stage] = true
		errs = append(errs, b.measure(ctx, l))
	}
	now := time.Now()
	for stage, accepted := range b.oldest {
		if !current[stage] { // of an index that is searched no more
			b.metrics.forget(stage)
			delete(b.oldest, stage)
			continue
		}
		b.metrics.waits(stage, accepted, now)
	}
	err := errors.Join(errs...)
	if err == nil {
		b.metrics.looked.Set(float64(now.Unix()))
	} else if !b.failed && !errors.Is(ctx.Err(), context.Canceled) {
		b.log.Warn("what waits before the stages can not be learned", "error", err)
	}
	b.failed = err != nil
}

func (b *backlog) measure(ctx context.Context, l leg) error {
	records, from, ends, err := l.behind(ctx, b.bus)
	if err != nil {
		return fmt.Errorf("%s: %w", l.stage, err)
	}
	b.metrics.records.WithLabelValues(l.stage, string(l.topic)).Set(float64(records))
	if len(from) == 0 {
		b.oldest[l.stage] = time.Time{}
		return nil
	}
	first, err := l.first(ctx, b.bus, from, ends)
	if err != nil {
		return fmt.Errorf("%s: %w", l.stage, err)
	}
	if first.Before(b.floor) {
		first = b.floor
	}
	b.oldest[l.stage] = first
	return nil
}

// acceptedAt returns when a caller was told that what m says will be searchable.
// A document that is made anew is waited for since that was asked for.
func acceptedAt(m stream.Message) time.Time {
	if m.Headers[events.HeaderRefresh] != "" || m.Headers[events.HeaderRefreshed] != "" || m.IsNull() {
		return m.Time
	}
	change, err := events.DecodeChange(m.Value)
	if err != nil || change.Accepted.IsZero() {
		return m.Time
	}
	return change.Accepted
}
