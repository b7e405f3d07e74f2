package standardizer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/pool"

	"github.com/toolstream/toolstream/internal/health"
	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The pace of a Refresher.
const (
	idle       = time.Second      // between two looks for a document that waits
	planFor    = 10 * time.Second // that an order of those that wait holds
	rest       = 5 * time.Second  // when the model, the store or the bus is away
	longRest   = time.Hour        // at most, whatever the model asks for
	firstPause = time.Minute      // before a document is taken up again; it doubles each time
	longPause  = time.Hour        // at most
)

// Uses tells how much tools are used.
type Uses interface {
	// Used returns how often, lately, a tool was used: more is more.
	Used(tenant, tool string) float64
}

// RefreshDeps is what a refresher works with beside what its service does.
type RefreshDeps struct {
	Workers     int           // most documents that the model is asked about at once
	Patience    time.Duration // that a call may take
	Follower    stream.Follower
	Republisher stream.Republisher
	Uses        Uses // optional: without it, what changed last comes first
}

// Refresher has the language model asked about the documents that wait for it. Once
// there is an answer, it puts the raw record of the tool on tools.raw once more, where it
// keeps its place in the order of its key, and only while it is the newest; the service
// makes the document anew. One at a time is to run: a second one asks again what the
// first is asking.
type Refresher struct {
	deps   RefreshDeps
	filler *filler
	made   *stream.Tail[document]
	raw    *stream.Tail[uint64]
	total  prometheus.Counter
	health health.State

	mu      sync.Mutex // guards what follows
	rows    map[string]*row
	waiting map[string]*row // of rows, those whose documents lack something
	at      map[events.Topic]map[int]uint64
	began   time.Time
	oldest  time.Time // since when the first of those that wait does, when the plan was made
	plan    []string  // keys of what waits, the last one first
	planned time.Time
	resting time.Time // until when nothing is asked
	busy    int       // workers that have a document
	abreast int       // of them at most, now
}

// document is what a record of tools.standardized says of the making of its
// document; the zero value, that there is none.
type document struct {
	ref     schema.Ref
	version schema.Version
	owes    debt
	since   time.Time // that the model was to be asked about it; zero: not known
}

// row is a tool: its newest document, and its raw record.
type row struct {
	document
	raw       uint64 // revision of the raw record; 0: there is none
	partition int
	offset    uint64

	busy  bool // a worker has it
	tries int
	due   time.Time
}

// NewRefresher returns the refresher of a service that has a model, and registers
// metrics. It starts nothing.
func NewRefresher(s *Service, d RefreshDeps) *Refresher {
	r := &Refresher{deps: d, filler: s.filler}
	r.deps.Workers = max(1, d.Workers)
	r.total = newRefreshMetrics(s.deps.Registerer, r.waits, r.age)
	deps := stream.Deps{Follower: d.Follower, Publisher: s.deps.Publisher, Logger: s.deps.Logger, Registerer: s.deps.Registerer}
	r.made = stream.NewTail(stream.Sink[document]{
		Name: "standardizer-refresh", Topic: events.ToolsStandardized, Decode: r.readDocument,
		Apply: func(_ context.Context, records []stream.Record[document], through map[int]uint64) error {
			for _, m := range records {
				r.update(m.Message.Key, func(row *row) { row.learn(m.Decoded) })
			}
			r.reach(events.ToolsStandardized, through)
			return nil
		},
	}, deps)
	r.raw = stream.NewTail(stream.Sink[uint64]{
		Name: "standardizer-refresh-raw", Topic: events.ToolsRaw, Decode: readRevision,
		Apply: func(_ context.Context, records []stream.Record[uint64], through map[int]uint64) error {
			for _, m := range records {
				r.update(m.Message.Key, func(row *row) {
					row.raw, row.partition, row.offset = m.Decoded, m.Message.Partition, m.Message.Offset
				})
			}
			r.reach(events.ToolsRaw, through)
			return nil
		},
	}, deps)
	return r
}

// readDocument reads the head of a record. What cannot be read is the
// embedder's to dead-letter.
func (r *Refresher) readDocument(m stream.Message) (document, error) {
	var c struct {
		source
		schema.Version
		Op       events.Op `json:"op"`
		Document struct {
			Flags        []string       `json:"flags"`
			Standardized *schema.Origin `json:"standardized"`
		} `json:"document"`
	}
	if m.IsNull() || json.Unmarshal(m.Value, &c) != nil || c.Op != events.OpUpsert || c.Kind != schema.KindTool {
		return document{}, nil
	}
	o := c.Document.Standardized
	policy := r.filler.policy
	hold := policy.holds(c.source, policy.flags(c.source, c.Document.Flags))
	d := document{ref: c.Ref, version: c.Version, owes: r.filler.wanted.owes(hold, o)}
	if o != nil && o.Fallback == schema.FallbackPending {
		d.since = m.Time
	}
	return d, nil
}

// readRevision reads the head of a raw record: 0 where it deletes the tool. A record
// without a revision is not refreshed.
func readRevision(m stream.Message) (uint64, error) {
	revision, err := strconv.ParseUint(m.Headers[events.HeaderRevision], 10, 64)
	if err != nil || m.IsNull() || m.Headers[events.HeaderOp] == string(events.OpDelete) {
		return 0, nil
	}
	return revision, nil
}

// update changes the row of a tool. A tool that has neither document nor raw record is
// forgotten.
func (r *Refresher) update(key string, change func(*row)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.rows[key]
	if x == nil {
		x = &row{}
		r.rows[key] = x
	}
	change(x)
	if x.document == (document{}) && x.raw == 0 {
		delete(r.rows, key)
	}
	if x.owes == none {
		delete(r.waiting, key)
	} else {
		r.waiting[key] = x
	}
}

// learn takes over a document that was read, unless it is older than what is known.
func (r *row) learn(d document) {
	if r.version.Newer(d.version) && !d.version.IsZero() {
		return
	}
	if d.version.Revision != r.version.Revision {
		r.tries, r.due = 0, time.Time{}
	}
	r.document = d
}

func (r *Refresher) reach(topic events.Topic, through map[int]uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for partition, offset := range through {
		r.at[topic][partition] = offset
	}
}

// Run has documents made anew until ctx ends and the questions under way are answered,
// within stream.DrainTime. It may be called again once it has returned.
func (r *Refresher) Run(ctx context.Context) error {
	r.reset()
	defer r.reset()
	g := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	g.Go(func(ctx context.Context) error { return r.made.Run(ctx, nil) })
	g.Go(func(ctx context.Context) error { return r.raw.Run(ctx, nil) })
	g.Go(r.work)
	return g.Wait()
}

// reset forgets what was read.
func (r *Refresher) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows, r.waiting, r.plan = map[string]*row{}, map[string]*row{}, nil
	r.at = map[events.Topic]map[int]uint64{events.ToolsRaw: {}, events.ToolsStandardized: {}}
	r.busy, r.abreast = 0, 1
	r.began = r.filler.now()
	r.oldest = r.began
}

// work lets the workers work once the rows hold what was on the bus at the start: before,
// a document may look as if it lacked something.
func (r *Refresher) work(ctx context.Context) error {
	for _, topic := range []events.Topic{events.ToolsRaw, events.ToolsStandardized} {
		if err := r.catchUp(ctx, topic); err != nil {
			return stream.OrDone(ctx, err)
		}
	}
	answering, cancel := stream.Draining(ctx)
	defer cancel()
	var workers conc.WaitGroup
	for range r.deps.Workers {
		workers.Go(func() {
			for ctx.Err() == nil {
				if r.step(ctx, answering) {
					continue
				}
				select {
				case <-ctx.Done():
				case <-time.After(idle):
				}
			}
		})
	}
	workers.Wait()
	return nil
}

// catchUp waits until the rows hold what a topic holds now.
func (r *Refresher) catchUp(ctx context.Context, topic events.Topic) error {
	var ends map[int]uint64
	pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(rest), backoff.WithMaxElapsedTime(0))
	err := backoff.Retry(func() (err error) { ends, err = r.deps.Follower.End(ctx, topic); return err }, backoff.WithContext(pace, ctx))
	if err != nil {
		return err
	}
	for !r.reached(topic, ends) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(idle / 4):
		}
	}
	return nil
}

func (r *Refresher) reached(topic events.Topic, ends map[int]uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for partition, end := range ends {
		if r.at[topic][partition] < end {
			return false
		}
	}
	return true
}

// step takes up the document that is worth it most. It returns false if there is none.
func (r *Refresher) step(run, ctx context.Context) bool {
	key, x, ok := r.take()
	if !ok {
		return false
	}
	err := r.refresh(run, ctx, key, x)
	r.release(key, x.version.Revision, err)
	if run.Err() == nil && llm.KindOf(err) == "" { // the model's health is told by its breaker
		r.health.Note(ctx, r.filler.log, err, "refresher: trying again", "refresher: it works again")
	}
	return true
}

// take returns the document that comes first of those that wait, and keeps it from the
// other workers.
func (r *Refresher) take() (string, row, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.filler.now()
	if now.Before(r.resting) || r.busy >= r.abreast {
		return "", row{}, false
	}
	if age := now.Sub(r.planned); age >= planFor || len(r.plan) == 0 && age >= idle {
		r.replan(now)
	}
	for len(r.plan) > 0 {
		last := len(r.plan) - 1
		key := r.plan[last]
		r.plan = r.plan[:last]
		if x := r.waiting[key]; x != nil && x.ready(now) {
			x.busy = true
			r.busy++
			return key, *x, true
		}
	}
	return "", row{}, false
}

// ready reports whether a document can be taken up: its raw record is the one that it
// was made of.
func (r *row) ready(now time.Time) bool {
	return !r.busy && !now.Before(r.due) && r.raw == r.version.Revision
}

// replan puts what waits in order: what lacks most, then what is used most, then what
// changed last. The caller holds mu.
func (r *Refresher) replan(now time.Time) {
	type candidate struct {
		key      string
		owes     debt
		used     float64
		revision uint64
	}
	var all []candidate
	r.planned, r.oldest = now, now
	for key, x := range r.waiting {
		since := x.since
		if since.IsZero() {
			since = r.began
		}
		if since.Before(r.oldest) {
			r.oldest = since
		}
		if !x.ready(now) {
			continue
		}
		c := candidate{key: key, owes: x.owes, revision: x.version.Revision}
		if r.deps.Uses != nil {
			c.used = r.deps.Uses.Used(x.ref.Tenant, x.ref.ID)
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.owes, b.owes), cmp.Compare(a.used, b.used), cmp.Compare(a.revision, b.revision), cmp.Compare(a.key, b.key))
	})
	r.plan = r.plan[:0]
	for _, c := range all {
		r.plan = append(r.plan, c.key)
	}
}

// refresh has the model asked about a document, unless there is nothing to ask, and puts
// its raw record on the bus again. A question that has begun outlives run by ctx.
func (r *Refresher) refresh(run, ctx context.Context, key string, x row) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = stream.Permanent(stream.ReasonPanic, fmt.Errorf("document of %s: panic: %v\n%s", key, v, debug.Stack()))
		}
	}()
	m, found, err := stream.ReadAt(ctx, r.deps.Follower, events.ToolsRaw, x.partition, x.offset)
	if err != nil {
		return err
	}
	if !found || m.Key != key {
		return nil // there is a newer one, which will be read
	}
	for open := true; open; {
		began := r.filler.now()
		open, err = r.filler.answer(ctx, m)
		r.adapt(r.filler.now().Sub(began), err)
		if err != nil {
			return err
		}
		if open && run.Err() != nil {
			return run.Err() // what was answered is kept
		}
	}
	m.Headers = tracing.Without(m.Headers)
	m.Headers[events.HeaderRefresh] = r.filler.wanted.String()
	done, err := r.deps.Republisher.Republish(ctx, m)
	if err != nil {
		return fmt.Errorf("republish %s: %w", key, err)
	}
	if done {
		r.total.Inc()
	}
	return nil
}

// adapt asks more at once after a quick answer, and fewer after a slow one or a slow
// failure: with an endpoint that answers one question after the other, many would wait
// until their time is over.
func (r *Refresher) adapt(took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case took < r.deps.Patience/4 && err == nil:
		r.abreast = min(r.abreast+1, r.deps.Workers)
	case took > r.deps.Patience/2:
		r.abreast = max(r.abreast-1, 1)
	}
}

// release gives a document of a revision back. It is not taken up again before its new
// version can be there. What the document cannot help lets all of them wait: the model
// does not take questions, or the store or the bus is away.
func (r *Refresher) release(key string, revision uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.filler.now()
	r.busy--
	pause, all := pauseFor(err)
	if all {
		r.resting = now.Add(pause)
	}
	x := r.rows[key]
	if x == nil {
		return
	}
	x.busy = false
	if !all && x.version.Revision == revision {
		x.due = now.Add(min(firstPause<<min(x.tries, 10), longPause))
		x.tries++
	}
}

// pauseFor returns whether a failure is of all documents, and how long they wait then.
func pauseFor(err error) (pause time.Duration, all bool) {
	if _, permanent := stream.AsPermanent(err); permanent || err == nil {
		return 0, false
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		return rest, true
	}
	own := e.RetryAfter == 0 && (e.Kind == llm.Unavailable || e.Kind == llm.TimedOut)
	return min(max(rest, e.RetryAfter), longRest), !own
}

// waits is how many documents wait.
func (r *Refresher) waits() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return float64(len(r.waiting))
}

// age is how long the first of them has waited, in seconds.
func (r *Refresher) age() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		return 0
	}
	return max(0, r.filler.now().Sub(r.oldest).Seconds())
}
