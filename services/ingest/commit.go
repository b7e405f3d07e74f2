package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// A lane commits the changes of some keys. All changes of one key go through
// one lane, and a lane has one Publish under way at a time, so the order of
// revisions is the order on the bus. What arrives meanwhile is committed
// together, however many callers it came from.
type lane struct {
	s     *Service
	queue chan *job
}

// job is one caller's part for one lane.
type job struct {
	ctx     context.Context // of the caller: for its trace, not for its end
	changes []*change
	done    chan error // holds one
}

func newLane(s *Service) *lane {
	return &lane{s: s, queue: make(chan *job, queuedJobs)}
}

const (
	queuedJobs = 64
	groupItems = 1024    // changes that are committed together, at most, plus one job
	groupBytes = 8 << 20 // of documents, likewise
)

// run commits until ctx ends, then what is queued.
func (l *lane) run(ctx context.Context) {
	for {
		select {
		case j := <-l.queue:
			l.commit(ctx, l.group(j))
		case <-ctx.Done():
			select {
			case j := <-l.queue:
				l.commit(ctx, l.group(j))
			default:
				return
			}
		}
	}
}

// group adds to first what else waits.
func (l *lane) group(first *job) []*job {
	jobs, items, size := []*job{first}, 0, 0
	for j := first; ; {
		items += len(j.changes)
		for _, c := range j.changes {
			size += c.size
		}
		if items >= groupItems || size >= groupBytes {
			return jobs
		}
		select {
		case j = <-l.queue:
			jobs = append(jobs, j)
		default:
			return jobs
		}
	}
}

// commit decides, publishes and answers. The bus is given its time even when
// the service is to stop.
func (l *lane) commit(ctx context.Context, jobs []*job) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.s.cfg.PublishTimeout)
	defer cancel()
	err := l.s.current(ctx)
	if err == nil {
		err = l.publish(ctx, l.decide(jobs))
	}
	for _, j := range jobs {
		j.done <- err
	}
}

// entry is a change that was decided to be accepted, with its record on the
// bus and what will be known then.
type entry struct {
	job    *job
	change *change
	known  known
	msg    stream.Message
}

// round is what one commit has decided so far.
type round struct {
	entries []*entry
	last    map[string]*entry // by key
	touched []*change         // by events that brought nothing new
}

// decide judges every change as if those before it were on the bus already.
func (l *lane) decide(jobs []*job) *round {
	r := &round{last: map[string]*entry{}}
	for _, j := range jobs {
		for _, c := range j.changes {
			l.decideOne(r, j, c)
		}
	}
	return r
}

func (l *lane) decideOne(r *round, j *job, c *change) {
	pending := r.last[c.key]
	old, there, doubtful := l.s.table.get(c.key)
	if pending != nil {
		old, there, doubtful = pending.known, true, false
		old.event.id = 0 // two items of one event are not a repetition
	}
	state, reason := decide(old, there, doubtful, c)
	c.outcome.settle(state, reason, old.Revision)
	if state == Unchanged && c.event != (mark{}) {
		r.touched = append(r.touched, c)
	}
	if state != Accepted {
		return
	}
	e, err := l.enter(j, c, old)
	if err != nil {
		c.outcome.reject(ReasonInvalid, "", err.Error())
		return
	}
	if pending != nil && pending.job == j {
		pending.change.outcome.settle(Superseded, "", 0)
		pending.change = nil
	}
	r.entries = append(r.entries, e)
	r.last[c.key] = e
}

// enter gives the change its revision and writes its record.
func (l *lane) enter(j *job, c *change, old known) (*entry, error) {
	c.record.Version = version(l.s.clock.Next(), old, c)
	c.record.Accepted = l.s.now().UTC()
	value, err := encode(&c.record)
	if err != nil {
		return nil, err
	}
	if len(value) > l.s.cfg.MaxRecord {
		return nil, fmt.Errorf("the record has %d bytes, the bus takes %d", len(value), l.s.cfg.MaxRecord)
	}
	c.outcome.Revision = c.record.Revision
	k := l.s.table.knownOf(&c.record)
	return &entry{job: j, change: c, known: k, msg: l.message(j, c, value)}, nil
}

func (l *lane) message(j *job, c *change, value []byte) stream.Message {
	headers := map[string]string{
		events.HeaderSchema:   strconv.Itoa(events.ChangeSchema),
		events.HeaderRevision: strconv.FormatUint(c.record.Revision, 10),
	}
	if c.record.Hash != "" {
		headers[events.HeaderHash] = c.record.Hash
	}
	l.s.trace.Inject(j.ctx, propagation.MapCarrier(headers))
	return stream.Message{Topic: events.ToolsRaw, Key: c.key, Value: value, Headers: headers}
}

// publish puts the entries on the bus and remembers them. After an error it is
// unknown which of them are there: nothing is remembered but the doubt, and
// whoever tries again gets a higher revision.
func (l *lane) publish(ctx context.Context, r *round) error {
	r.entries = slices.DeleteFunc(r.entries, func(e *entry) bool { return e.change == nil })
	if err := l.send(ctx, r.entries); err != nil {
		for _, e := range r.entries {
			l.s.table.doubt(e.change.key, e.known.Revision)
		}
		return unavailable("publish", err)
	}
	for _, e := range r.entries {
		l.s.table.put(e.change.record.Ref, e.change.key, e.known)
	}
	for _, c := range r.touched {
		l.s.table.touch(c.key, c.event)
	}
	return nil
}

func (l *lane) send(ctx context.Context, entries []*entry) error {
	if len(entries) == 0 {
		return nil
	}
	msgs := make([]stream.Message, len(entries))
	for i, e := range entries {
		msgs[i] = e.msg
	}
	start := time.Now()
	err := l.s.publisher.Publish(ctx, msgs...)
	l.s.metrics.published(len(msgs), time.Since(start), err)
	return err
}

// encode writes a record as JSON, leaving <, > and & in documents as they are:
// escaping them would blow up what the size was checked on.
func encode(c *events.Change) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(c.Raw) + 512)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("the document is not valid JSON: %w", syntax)
		}
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
