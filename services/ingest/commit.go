package ingest

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/events"
)

// A committer puts changes on the bus in the order in which it gives them
// revisions. One Publish is under way at a time, so that order is the order on
// the bus; what arrives meanwhile is decided and encoded meanwhile, and then
// published together, however many callers it came from.
//
// It decides as if what is under way were on the bus already. If that fails,
// all that was decided since is refused too, unpublished.
type committer struct {
	s     *Service
	queue chan *job
	ready chan *round

	mu    sync.Mutex        // guards all below, and the table against being read between a round's end and its being remembered
	ahead map[string]*entry // decided, not durable yet: the newest of each key
	epoch int               // counts failed rounds

	doubted bool // a round has ended without an answer from the bus
}

// job is what one caller wants committed.
type job struct {
	ctx     context.Context // of the caller: for its trace, not for its end
	changes []*change
	done    chan error // holds one
}

// entry is a change that was decided to be accepted, and what will be known
// then. Once another change of the same job has superseded it, change is nil.
type entry struct {
	job    *job
	change *change
	known  known
	msg    stream.Message

	refused bool // by the bus, for good
}

// round is what is committed together.
type round struct {
	jobs    []*job
	items   int // changes in jobs
	size    int // bytes of their documents
	epoch   int
	entries []*entry
	touched []*change // by events that brought nothing new
	sent    bool      // whether the bus was asked
}

const (
	queuedJobs = 256
	roundItems = 1000    // changes of a round, at most, plus those of one job
	roundBytes = 8 << 20 // of documents, likewise
)

func (r *round) full() bool { return r.items >= roundItems || r.size >= roundBytes }

func (r *round) add(j *job) {
	r.jobs = append(r.jobs, j)
	r.items += len(j.changes)
	for _, ch := range j.changes {
		r.size += len(ch.raw)
	}
}

func newCommitter(s *Service) *committer {
	return &committer{s: s, queue: make(chan *job, queuedJobs), ready: make(chan *round), ahead: map[string]*entry{}}
}

// run commits until ctx ends, then what is queued.
func (c *committer) run(ctx context.Context) {
	var publisher sync.WaitGroup
	publisher.Go(func() {
		for r := range c.ready {
			c.finish(r, c.publish(ctx, r))
		}
	})
	for j := c.next(ctx); j != nil; j = c.next(ctx) {
		c.fill(ctx, j)
	}
	close(c.ready)
	publisher.Wait()
}

// next returns a job, or nil once ctx has ended and none is left.
func (c *committer) next(ctx context.Context) *job {
	select {
	case j := <-c.queue:
		return j
	case <-ctx.Done():
	}
	select {
	case j := <-c.queue:
		return j
	default:
		return nil
	}
}

// fill decides jobs until the round is full or the publisher takes it.
func (c *committer) fill(ctx context.Context, first *job) {
	r := &round{}
	c.take(ctx, r, first)
	for {
		queue := c.queue
		if r.full() {
			queue = nil
		}
		select {
		case j := <-queue:
			c.take(ctx, r, j)
		case c.ready <- r:
			return
		}
	}
}

// take decides a job, and what else waits, into the round.
func (c *committer) take(ctx context.Context, r *round, j *job) {
	before := len(r.jobs)
	for r.add(j); !r.full(); r.add(j) {
		select {
		case j = <-c.queue:
			continue
		default:
		}
		break
	}
	ctx, cancel := c.s.bounded(ctx)
	defer cancel()
	if err := c.s.current(ctx); err != nil {
		for _, j := range r.jobs[before:] {
			j.done <- err
		}
		r.jobs = r.jobs[:before]
		return
	}
	decided := len(r.entries)
	c.decide(r, r.jobs[before:])
	for _, e := range r.entries[decided:] {
		if e.change != nil {
			e.msg = c.message(e)
		}
	}
}

// decide judges every change as if those before it were on the bus already.
func (c *committer) decide(r *round, jobs []*job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(r.jobs) == len(jobs) {
		r.epoch = c.epoch
	}
	if r.epoch != c.epoch {
		return // the round before failed: this one is refused as a whole, and what nobody publishes must not count as decided
	}
	for _, j := range jobs {
		for _, ch := range j.changes {
			c.decideOne(r, j, ch)
		}
	}
}

// decideOne judges one change. The caller holds mu.
func (c *committer) decideOne(r *round, j *job, ch *change) {
	before := c.ahead[ch.key]
	old, there, doubt := c.s.table.get(ch.key)
	doubtful := !doubt.IsZero()
	if before != nil {
		old, there, doubtful = before.known, true, false
		old.event.id = 0 // two items of one event are not a repetition
	}
	state, reason := decide(old, there, doubtful, ch)
	ch.outcome.settle(state, reason, old.Revision)
	if state == Unchanged && ch.event != (mark{}) {
		r.touched = append(r.touched, ch)
	}
	if state != Accepted {
		return
	}
	if before != nil && before.job == j {
		before.change.outcome.settle(Superseded, "", 0)
		before.change = nil
	}
	ch.record.Version = version(c.s.clock.Next(), old.Version, doubt, ch)
	ch.record.Accepted = c.s.now().UTC()
	ch.outcome.Revision = ch.record.Revision
	e := &entry{job: j, change: ch, known: ch.known()}
	r.entries = append(r.entries, e)
	c.ahead[ch.key] = e
}

// publish makes a round durable.
func (c *committer) publish(ctx context.Context, r *round) error {
	c.mu.Lock()
	late := r.epoch != c.epoch
	c.mu.Unlock()
	if late {
		return unavailable("publish", errAhead)
	}
	var entries []*entry
	for _, e := range r.entries {
		if e.change != nil {
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 {
		return nil
	}
	ctx, cancel := c.s.bounded(ctx)
	defer cancel()
	r.sent = true
	start := time.Now()
	sending := r.sending(len(entries))
	err := c.send(ctx, entries)
	for _, span := range sending {
		tracing.End(span, err)
	}
	c.s.metrics.published(len(entries), time.Since(start), err)
	if err != nil {
		return unavailable("publish", err)
	}
	return nil
}

// send puts records on the bus, and refuses what it will never take, such as a larger
// one than it is set to. A record that is stored twice is the same change.
func (c *committer) send(ctx context.Context, entries []*entry) error {
	publish := func(some []*entry) error {
		msgs := make([]stream.Message, len(some))
		for i, e := range some {
			msgs[i] = e.msg
		}
		return c.s.publisher.Publish(ctx, msgs...)
	}
	return stream.ByHalves(entries, publish, func(e *entry, why *stream.PermanentError) {
		e.refused = true
		e.change.outcome.reject(why.Reason, "", why.Err.Error())
	})
}

// tracedJobs bounds the jobs of a round whose traces show that it was sent.
const tracedJobs = 16

// sending begins a span in the trace of each of the first jobs.
func (r *round) sending(records int) []trace.Span {
	var spans []trace.Span
	for _, j := range r.jobs[:min(len(r.jobs), tracedJobs)] {
		_, span := tracing.Begin(j.ctx, "send "+string(events.ToolsRaw), trace.WithSpanKind(trace.SpanKindProducer))
		span.SetAttributes(semconv.MessagingDestinationName(string(events.ToolsRaw)), semconv.MessagingBatchMessageCount(records))
		spans = append(spans, span)
	}
	return spans
}

// finish remembers a round and answers its jobs. After an error it is unknown
// which changes are on the bus: nothing is remembered but the doubt, and
// whoever tries again gets a higher revision.
func (c *committer) finish(r *round, err error) {
	c.mu.Lock()
	if err != nil {
		c.forget(r)
	} else {
		c.remember(r)
	}
	c.mu.Unlock()
	for _, j := range r.jobs {
		j.done <- err
	}
}

// remember puts a durable round into the table. The caller holds mu.
func (c *committer) remember(r *round) {
	if slices.ContainsFunc(r.entries, func(e *entry) bool { return e.refused }) {
		c.startAnew(r)
	}
	for _, e := range r.entries {
		if e.change == nil || e.refused {
			continue
		}
		key := e.change.key
		c.s.table.put(e.change.record.Ref, key, e.known, place{})
		if c.ahead[key] == e {
			delete(c.ahead, key)
		}
	}
	for _, ch := range r.touched {
		c.s.table.touch(ch.key, ch.event)
	}
}

// forget drops a round that failed, and what was decided after it. The caller
// holds mu.
func (c *committer) forget(r *round) {
	c.startAnew(r)
	if r.sent && !c.doubted {
		c.doubted = true
		close(c.s.doubted)
	}
	for _, e := range r.entries {
		if r.sent && e.change != nil {
			c.s.table.doubt(e.change.key, e.known.Version)
		}
	}
}

// startAnew drops what was decided as if the round were on the bus. The caller holds
// mu.
func (c *committer) startAnew(r *round) {
	if len(r.entries) > 0 && r.epoch == c.epoch {
		c.epoch++
		clear(c.ahead)
	}
}

// message is the record of an accepted change.
func (c *committer) message(e *entry) stream.Message {
	record := &e.change.record
	headers := events.Headers(record)
	tracing.Inject(e.job.ctx, headers)
	return stream.Message{Topic: events.ToolsRaw, Key: e.change.key, Value: encode(record, e.change.raw), Headers: headers}
}

// rawMember goes before the document, which is a record's last member.
const rawMember = `,"raw":`

// encode writes a record whose document, which is valid JSON, is put in as it
// is: encoding/json would read it once more, and escape <, > and & to six times
// their size.
func encode(record *events.Change, raw []byte) []byte {
	head, err := json.Marshal(record)
	if err != nil {
		panic(err) // strings and numbers only: check has seen to the times
	}
	if len(raw) == 0 {
		return head
	}
	value := make([]byte, 0, len(head)+len(rawMember)+len(raw))
	value = append(value, head[:len(head)-1]...)
	value = append(value, rawMember...)
	value = append(value, raw...)
	return append(value, '}')
}
