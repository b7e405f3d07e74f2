package status

import (
	"context"
	"strings"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/standardizer"
)

// timeout bounds the time for a status: an operator wants to know which part does not answer,
// not to wait for it.
const timeout = 2 * time.Second

// Stage is the progress of one consumer.
type Stage struct {
	Name    string       `json:"name"`
	Topic   events.Topic `json:"topic" doc:"Topic that the stage reads."`
	Lag     uint64       `json:"lag" doc:"Records that the stage has yet to read, at most: compaction leaves gaps in the numbering."`
	Waiting float64      `json:"waiting_seconds,omitempty" doc:"Time since the oldest of these was accepted."`
	Rate    *float64     `json:"per_second,omitempty" doc:"Records that the stage processed per second since the last measurement; absent until that is known."`
	Workers *int         `json:"workers,omitempty" doc:"Processes that share the work; absent for a stage that has one process by design."`
	Problem string       `json:"problem,omitempty" doc:"Why nothing else is known of the stage."`
}

// Bus returns the ends of topics and the positions of groups.
type Bus interface {
	stream.Follower
	// Committed returns the position of a group in each partition.
	Committed(ctx context.Context, topic events.Topic, group string) (map[int]uint64, error)
}

// stage is one consumer on the way from acceptance to being searchable.
type stage struct {
	name      string
	topic     events.Topic // that it reads
	positions func(context.Context) (map[int]uint64, error)
}

// pipeline returns the stages into the index in their order. A change that is not in the index
// yet waits before one of them.
func (l Live) pipeline(bus Bus) []stage {
	group := func(name string, topic events.Topic) stage {
		return stage{name, topic, func(ctx context.Context) (map[int]uint64, error) { return bus.Committed(ctx, topic, name) }}
	}
	stages := []stage{
		group(standardizer.Name, events.ToolsRaw),
		group(events.Numbered(embedder.StageName, l.Number), events.ToolsStandardized),
		{
			l.writer(), events.Embedded(l.Number),
			func(context.Context) (map[int]uint64, error) { return l.Index.Positions(), nil },
		},
	}
	if l.VectorsGroup != "" {
		stages = append(stages, group(l.VectorsGroup, events.Embedded(l.Number)))
	}
	return stages
}

// writer returns the name of the stage that writes the index.
func (l Live) writer() string { return events.Numbered(embedder.WriterName, l.Number) }

// Lag returns how many records all stages into an index together have yet to read.
func (l Live) Lag(ctx context.Context, bus Bus) (uint64, error) {
	var sum uint64
	for _, st := range l.pipeline(bus) {
		records, _, _, err := st.lag(ctx, bus)
		if err != nil {
			return 0, err
		}
		sum += records
	}
	return sum, nil
}

// lag returns how many records the stage has yet to read, and its position in each partition
// that has some.
func (s stage) lag(ctx context.Context, bus stream.Ends) (records uint64, from, ends map[int]uint64, err error) {
	if ends, err = bus.End(ctx, s.topic); err != nil {
		return 0, nil, nil, err
	}
	at, err := s.positions(ctx)
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

// ask asks the bus, the dependencies and the other processes, all at the same time.
func (r *Reporter) ask(ctx context.Context, s *Status, live Live) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stages := live.pipeline(r.Bus)
	s.Stages, s.Dependencies = make([]Stage, len(stages)), make([]Dependency, len(r.Checks))
	var asked conc.WaitGroup
	for i, st := range stages {
		asked.Go(func() { s.Stages[i] = r.stage(ctx, st) })
	}
	for i, c := range r.Checks {
		asked.Go(func() {
			d := &s.Dependencies[i]
			*d = Dependency{Name: c.Name, Address: c.Address, Setting: c.Setting, OK: true}
			if err := answered(ctx, func() error { return c.Ask(ctx) }); err != nil {
				d.OK, d.Problem = false, err.Error()
			}
		})
	}
	asked.Go(func() {
		if err := answered(ctx, r.Ready); err != nil {
			s.Reason = err.Error()
		}
	})
	asked.Go(func() { s.Processes = r.Processes(ctx, identity.From(ctx).Tenant) })
	asked.Wait()
	s.Ready = s.Reason == ""
}

// stage returns the progress of a stage, with the rate and the age of the oldest record from the
// last measurement of the backlog.
func (r *Reporter) stage(ctx context.Context, st stage) Stage {
	out := Stage{Name: st.name, Topic: st.topic}
	records, _, _, err := st.lag(ctx, r.Bus)
	if err != nil {
		out.Problem = "the bus does not answer: " + err.Error()
		return out
	}
	if out.Lag = records; records > 0 {
		out.Waiting = r.Backlog.waits(st.name).Seconds()
	}
	out.Rate = r.Backlog.rate(st.name, done)
	shared, ok := r.Bus.(interface {
		Members(ctx context.Context, topic events.Topic, group string) (int, error)
	})
	if ok && !strings.HasPrefix(st.name, embedder.WriterName) {
		if n, err := shared.Members(ctx, st.topic, st.name); err == nil {
			out.Workers = &n
		}
	}
	return out
}
