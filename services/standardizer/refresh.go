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

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The pace of a Refresher.
const (
	idle       = time.Second      // between two checks for a waiting document
	planFor    = 10 * time.Second // lifetime of a plan
	rest       = 5 * time.Second  // if the model, the store or the bus is down
	longRest   = time.Hour        // the longest rest, whatever the model asks for
	firstPause = time.Minute      // before a document is tried again; it doubles each time
	longPause  = time.Hour        // the longest pause
)

// Uses knows how much tools are used.
type Uses interface {
	// Used returns a measure of the recent uses of a tool.
	Used(tenant, tool string) float64
}

// RefreshDeps are the dependencies that a refresher has in addition to its service.
type RefreshDeps struct {
	Workers     int           // the most questions at once
	Patience    time.Duration // the longest time of a call
	Follower    stream.Follower
	Republisher stream.Republisher
	Uses        Uses // optional: without it, recent changes come first
}

// Refresher asks the language model about the documents that wait for it. Once it has an
// answer, it publishes the raw record of the tool on tools.raw again, provided that it is
// still the newest of its key, and the service standardizes the tool again. Only one should
// run at a time: a second one would ask the same questions.
type Refresher struct {
	deps   RefreshDeps
	filler *filler
	made   *stream.Tail[document]
	raw    *stream.Tail[uint64]
	total  prometheus.Counter
	health lifecycle.Health

	mu      sync.Mutex // guards the fields below
	rows    map[string]*row
	waiting map[string]*row // the rows with a debt
	at      map[events.Topic]map[int]uint64
	began   time.Time
	oldest  time.Time // the longest waiting since, as of the plan
	plan    []string  // keys of waiting rows, the most urgent last
	planned time.Time
	resting time.Time // until then nothing is asked
	busy    int       // workers that have a document
	abreast int       // the current limit of busy
}

// document has the facts of a record of tools.standardized about its document; the zero
// value means that the record has no document.
type document struct {
	ref     schema.Ref
	version schema.Version
	owes    debt
	since   time.Time // when it began to wait for the model; zero if unknown
}

// row is a tool: its newest document and its raw record.
type row struct {
	document
	raw       uint64 // revision of the raw record; 0 without a record
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
	auto := telemetry.Metrics(s.deps.Registerer)
	auto.NewGaugeFunc("toolstream_refresh_waiting",
		"Documents that wait for the language model, the first time or after a change of prompt or model. 0 if another process asks.", r.waits)
	auto.NewGaugeFunc("toolstream_refresh_oldest_age_seconds",
		"How long the oldest waiting document has waited, since it was standardized or this process began to ask.", r.age)
	r.total = auto.NewCounter("toolstream_refresh_total", "Documents that were standardized again with an answer.")
	deps := stream.Deps{Follower: d.Follower, Publisher: s.deps.Publisher, Logger: s.deps.Logger, Registerer: s.deps.Registerer}
	r.made = stream.NewTail(stream.Sink[document]{
		Name: "standardizer-refresh", Topic: events.ToolsStandardized, Decode: r.readDocument,
		Apply: func(_ context.Context, records []stream.Record[document], through map[int]uint64) error {
			for _, m := range records {
				d := m.Decoded
				r.update(m.Message.Key, func(row *row) {
					if row.version.Newer(d.version) && !d.version.IsZero() {
						return
					}
					if d.version.Revision != row.version.Revision {
						row.tries, row.due = 0, time.Time{}
					}
					row.document = d
				})
			}
			r.advance(events.ToolsStandardized, through)
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
			r.advance(events.ToolsRaw, through)
			return nil
		},
	}, deps)
	return r
}

// readDocument reads the head of a record. The embedder dead-letters records that cannot be
// read.
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

// readRevision reads the revision of a raw record, 0 if it deletes the tool. A record without
// a revision is not refreshed.
func readRevision(m stream.Message) (uint64, error) {
	revision, err := strconv.ParseUint(m.Headers[events.HeaderRevision], 10, 64)
	if err != nil || m.IsNull() || m.Headers[events.HeaderOp] == string(events.OpDelete) {
		return 0, nil
	}
	return revision, nil
}

// update changes the row of a tool, and deletes it if it has neither a document nor a raw
// record.
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

func (r *Refresher) advance(topic events.Topic, through map[int]uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for partition, offset := range through {
		r.at[topic][partition] = offset
	}
}

// Run refreshes documents until ctx ends and the questions under way are answered, within
// stream.DrainTime. It may be called again after it has returned.
func (r *Refresher) Run(ctx context.Context) error {
	r.reset()
	defer r.reset()
	g := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	g.Go(func(ctx context.Context) error { return r.made.Run(ctx, nil) })
	g.Go(func(ctx context.Context) error { return r.raw.Run(ctx, nil) })
	g.Go(r.work)
	return g.Wait()
}

// reset clears the rows and the plan.
func (r *Refresher) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows, r.waiting, r.plan = map[string]*row{}, map[string]*row{}, nil
	r.at = map[events.Topic]map[int]uint64{events.ToolsRaw: {}, events.ToolsStandardized: {}}
	r.busy, r.abreast = 0, 1
	r.began = r.filler.now()
	r.oldest = r.began
}

// work starts the workers once the rows have everything that was on the bus at the start:
// before that, a document may seem to owe something.
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

// catchUp waits until the rows have everything that is on a topic now.
func (r *Refresher) catchUp(ctx context.Context, topic events.Topic) error {
	var ends map[int]uint64
	pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(rest), backoff.WithMaxElapsedTime(0))
	err := backoff.Retry(func() (err error) { ends, err = r.deps.Follower.End(ctx, topic); return err }, backoff.WithContext(pace, ctx))
	if err != nil {
		return err
	}
	for {
		r.mu.Lock()
		behind := false
		for partition, end := range ends {
			behind = behind || r.at[topic][partition] < end
		}
		r.mu.Unlock()
		if !behind {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(idle / 4):
		}
	}
}

// step refreshes the most urgent document. It returns false if no document is ready.
func (r *Refresher) step(run, ctx context.Context) bool {
	key, x, ok := r.next()
	if !ok {
		return false
	}
	err := r.refresh(run, ctx, key, x)
	r.release(key, x.version.Revision, err)
	if run.Err() == nil && llm.KindOf(err) == "" { // the breaker of the model reports its health
		r.health.LogChange(ctx, r.filler.log, err, "refresher: trying again", "refresher: works again")
	}
	return true
}

// next returns the most urgent document, and reserves it for one worker.
func (r *Refresher) next() (string, row, bool) {
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

// ready reports whether a document can be refreshed: its raw record is its own source.
func (r *row) ready(now time.Time) bool {
	return !r.busy && !now.Before(r.due) && r.raw == r.version.Revision
}

// replan orders the waiting documents by debt, then by use, then by the time of their change.
// The caller holds mu.
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

// refresh asks the model about a document, unless there is nothing to ask, and publishes its
// raw record again. A question under way continues after run has ended, until ctx ends.
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
		return nil // a newer record will follow
	}
	for open := true; open; {
		began := r.filler.now()
		open, err = r.filler.answer(ctx, m)
		r.adapt(r.filler.now().Sub(began), err)
		if err != nil {
			return err
		}
		if open && run.Err() != nil {
			return run.Err() // the answer is kept
		}
	}
	m.Headers = telemetry.WithoutTrace(m.Headers)
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

// adapt raises the number of questions at once after a quick answer, and lowers it after a
// slow answer or a slow failure: at an endpoint that answers one question at a time, many
// would time out.
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

// release returns a document of a revision. It is not tried again before its new version can
// have arrived. A failure that is not its own makes all documents wait: the model refuses
// questions, or the store or the bus is down.
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

// pauseFor reports whether a failure concerns all documents, and how long they wait.
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

// waits returns the number of waiting documents.
func (r *Refresher) waits() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return float64(len(r.waiting))
}

// age returns how long the oldest of them has waited, in seconds.
func (r *Refresher) age() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		return 0
	}
	return max(0, r.filler.now().Sub(r.oldest).Seconds())
}
