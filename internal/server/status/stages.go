package status

import (
	"context"
	"strings"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/standardizer"
)

// timeout bounds what a status waits for: an operator wants to know what does not
// answer, not to wait for it.
const timeout = 2 * time.Second

// Stage is how far one consumer has come.
type Stage struct {
	Name    string       `json:"name"`
	Topic   events.Topic `json:"topic" doc:"That it reads."`
	Lag     uint64       `json:"lag" doc:"Records that it has yet to read, at most: compaction leaves gaps in the numbering."`
	Waiting float64      `json:"waiting_seconds,omitempty" doc:"How long ago the oldest of them was accepted."`
	Rate    *float64     `json:"per_second,omitempty" doc:"Records that it worked on a second, of late; absent where that is not known yet."`
	Workers *int         `json:"workers,omitempty" doc:"Processes that share the work; absent where there is one by design."`
	Problem string       `json:"problem,omitempty" doc:"Why nothing else is known of it."`
}

// Bus is what is asked of the bus.
type Bus interface {
	stream.Follower
	// Committed returns how far a group has come in each partition.
	Committed(ctx context.Context, topic events.Topic, group string) (map[int]uint64, error)
}

// stage is one consumer on the way from acceptance to being searchable.
type stage struct {
	name      string
	topic     events.Topic // that it reads
	positions func(context.Context) (map[int]uint64, error)
}

// pipeline returns the stages into an index in their order: a change that is not in the
// index waits before one of them.
func (l Live) pipeline(bus Bus) []stage {
	group := func(name string, topic events.Topic) stage {
		return stage{name, topic, func(ctx context.Context) (map[int]uint64, error) { return bus.Committed(ctx, topic, name) }}
	}
	stages := []stage{
		group(standardizer.Name, events.ToolsRaw),
		group(events.Numbered(embedder.StageName, l.Number), events.ToolsStandardized),
		{
			events.Numbered(embedder.WriterName, l.Number), events.Embedded(l.Number),
			func(context.Context) (map[int]uint64, error) { return l.Index.Positions(), nil },
		},
	}
	if l.VectorsGroup != "" {
		stages = append(stages, group(l.VectorsGroup, events.Embedded(l.Number)))
	}
	return stages
}

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

// lag returns how many records the stage has yet to read, and from where on in each
// partition that has some.
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

// ask asks the bus, the dependencies and the other processes at once.
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
		asked.Go(func() { s.Dependencies[i] = c.run(ctx) })
	}
	asked.Go(func() {
		if err := answered(ctx, r.Ready); err != nil {
			s.Reason = err.Error()
		}
	})
	if r.Processes != nil {
		asked.Go(func() { s.Processes = r.Processes(ctx, identity.From(ctx).Tenant) })
	}
	asked.Wait()
	s.Ready = s.Reason == ""
}

// stage asks how far a stage has come. How long its oldest record waits is known from
// the last measurement of the backlog.
func (r *Reporter) stage(ctx context.Context, st stage) Stage {
	out := Stage{Name: st.name, Topic: st.topic}
	records, _, _, err := st.lag(ctx, r.Bus)
	if err != nil {
		out.Problem = "the bus does not answer: " + err.Error()
		return out
	}
	if out.Lag = records; records > 0 {
		out.Waiting = r.Backlog.age(st.name).Seconds()
	}
	out.Rate = r.Backlog.pace(st.name)
	out.Workers = r.workers(ctx, st)
	return out
}

// workers counts the processes that share a stage, nil where there is one by design.
func (r *Reporter) workers(ctx context.Context, st stage) *int {
	shared, ok := r.Bus.(interface {
		Members(ctx context.Context, topic events.Topic, group string) (int, error)
	})
	if !ok || strings.HasPrefix(st.name, embedder.WriterName) {
		return nil
	}
	n, err := shared.Members(ctx, st.topic, st.name)
	if err != nil {
		return nil
	}
	return &n
}
