package audit

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/health"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// ErrUnavailable is the error for a record that cannot be written now.
var ErrUnavailable = errors.New("the audit log cannot be written")

// HeadStore holds the ends of chains, under the tenant, a dot and the chain.
type HeadStore interface {
	Get(ctx context.Context, key string) (stream.Entry, error)
	Put(ctx context.Context, key string, value []byte) (uint64, error)
	Keys(ctx context.Context, prefix string) ([]string, error)
}

const (
	maxBatch     = 256              // records in one call of the bus
	maxSamples   = 1000             // records that may wait for samples to be taken
	maxWaiting   = 1 << 16          // and for any other while nothing can be written
	maxTools     = 1000             // in one record, and as many grants
	maxNames     = 1 << 19          // bytes that these take there
	beside       = 64               // bytes that each takes beside its text
	maxAfter     = 16               // ends of other chains that a chain begins with
	storeTimeout = 10 * time.Second // of one try to store a batch
	writeTimeout = 5 * time.Second  // that a request waits for its record
	headsEvery   = 5 * time.Second  // how old the stored end of a chain may be
)

// Deps is what a log works with.
type Deps struct {
	Publisher  stream.Publisher
	Keys       *Keys
	Heads      HeadStore
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Log writes the records of one process. Its methods may be called concurrently.
type Log struct {
	deps    Deps
	metrics *metrics
	health  health.State
	fails   atomic.Bool   // nothing can be written
	wake    chan struct{} // holds one while there is something to write

	mu       sync.Mutex // guards what follows
	waiting  []*waiting
	refusals map[refusal]*refused

	chains map[string]*chain // by tenant; of Run alone
}

// waiting is an event until its record is stored.
type waiting struct {
	event Event
	done  chan error
}

// chain is the end of what this process has made for a tenant.
type chain struct {
	Head
	after   []Head
	durable Head   // the last record that is on the bus
	stored  uint64 // sequence that the store of heads has
}

// New returns a log. It starts nothing.
func New(d Deps) *Log {
	return &Log{
		deps: d, metrics: newMetrics(d.Registerer), wake: make(chan struct{}, 1),
		refusals: map[refusal]*refused{}, chains: map[string]*chain{},
	}
}

// Admit returns an error as long as nothing can be written: then nothing may be done that
// must not be done without a record.
func (l *Log) Admit() error {
	if l.fails.Load() {
		return ErrUnavailable
	}
	return nil
}

// Write returns nil once the record of an event is durable. An error says that nobody knows
// when it will be: as long as nothing can be written records wait, until the process ends.
// That of an event that changes nothing is written in the background, as long as few wait.
func (l *Log) Write(ctx context.Context, e Event) error {
	fails := l.fails.Load()
	if fails && l.waits() >= maxWaiting {
		return ErrUnavailable
	}
	if e.ReadOnly && !fails && l.waits() < maxSamples {
		l.put(e)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	for _, w := range l.put(e) {
		if fails {
			return ErrUnavailable
		}
		select {
		case err := <-w.done:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ErrUnavailable
		}
	}
	return nil
}

// Sample has the record of an event written in the background. If many wait already, it is
// counted and left out.
func (l *Log) Sample(e Event) {
	if l.waits() >= maxSamples {
		l.metrics.dropped.Inc()
		return
	}
	l.put(e)
}

// waits returns how many records wait.
func (l *Log) waits() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// put queues an event: one that names many tools or grants as several, which fit the bus. A
// record that does not would hold up all that come after it.
func (l *Log) put(e Event) (put []*waiting) {
	e.time = time.Now().UTC()
	for first := true; first || len(e.Tools)+len(e.Changed) > 0; first = false {
		part, room := e, maxNames
		part.Tools, e.Tools = fitting(e.Tools, &room, func(t ToolRef) string { return t.ID })
		part.Changed, e.Changed = fitting(e.Changed, &room, func(grant string) string { return grant })
		put = append(put, &waiting{part, make(chan error, 1)})
	}
	l.mu.Lock()
	l.waiting = append(l.waiting, put...)
	l.mu.Unlock()
	l.signal()
	return put
}

// fitting divides a list into what there is room for in a record, and the rest. What each
// item takes is bounded by its text: JSON writes a byte of it as six at most.
func fitting[T any](list []T, room *int, text func(T) string) (fits, rest []T) {
	n := 0
	for n < min(len(list), maxTools) {
		size := beside + 6*len(text(list[n]))
		if size > *room && *room < maxNames { // one has room in a record of its own
			break
		}
		*room -= size
		n++
	}
	return list[:n:n], list[n:]
}

func (l *Log) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Run writes until ctx ends, and then what is left.
func (l *Log) Run(ctx context.Context) error {
	work, cancel := stream.Draining(ctx)
	defer cancel()
	heads, windows := time.NewTicker(headsEvery), time.NewTicker(time.Second)
	defer heads.Stop()
	defer windows.Stop()
	for {
		select {
		case <-ctx.Done():
			l.write(work, true)
			l.putHeads(work)
			return nil
		case <-l.wake:
		case <-windows.C:
		case <-heads.C:
			l.putHeads(work)
		}
		l.write(work, false)
	}
}

// write writes what waits, and the refusals whose time has come, or all.
func (l *Log) write(ctx context.Context, all bool) {
	for _, batch := range l.take(time.Now(), all) {
		l.store(ctx, batch)
	}
}

// take returns what is to be written, in batches.
func (l *Log) take(now time.Time, all bool) (batches [][]*waiting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.due(now, all) {
		l.waiting = append(l.waiting, &waiting{e, make(chan error, 1)})
	}
	for batch := range slices.Chunk(l.waiting, maxBatch) {
		batches = append(batches, batch)
	}
	l.waiting = nil
	return batches
}

// store writes a batch, and tries until that succeeds or ctx ends. A record that has its
// place in a chain keeps it: it may be on the bus. Those who wait learn of the first failure.
func (l *Log) store(ctx context.Context, batch []*waiting) {
	var msgs []stream.Message
	try := func() error {
		work, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
		for len(msgs) < len(batch) {
			m, err := l.record(work, batch[len(msgs)].event)
			if err != nil {
				return err
			}
			msgs = append(msgs, m)
		}
		return l.deps.Publisher.Publish(work, msgs...)
	}
	note := func(err error) {
		l.fails.Store(err != nil)
		l.health.Note(ctx, l.deps.Logger, err, "audit: records cannot be written, and changes are refused", "audit: records are written again")
	}
	policy := backoff.NewExponentialBackOff(backoff.WithInitialInterval(100*time.Millisecond), backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0))
	err := backoff.RetryNotify(try, backoff.WithContext(policy, ctx), func(err error, _ time.Duration) {
		note(err)
		l.metrics.failures.Inc()
		for _, w := range batch {
			w.settle(ErrUnavailable)
		}
	})
	if err != nil {
		l.deps.Logger.Error("audit: records are lost: the process ends, and they cannot be written", "records", len(batch), "error", err)
		return
	}
	note(nil)
	for _, m := range msgs {
		l.chains[m.Key].durable = l.chains[m.Key].Head
	}
	for _, w := range batch {
		l.metrics.records.WithLabelValues(string(w.event.decision())).Inc()
		w.settle(nil)
	}
}

// settle tells once what became of an event.
func (w *waiting) settle(err error) {
	select {
	case w.done <- err:
	default:
	}
}

// record makes the next record of a chain.
func (l *Log) record(ctx context.Context, e Event) (stream.Message, error) {
	tenant := e.tenant()
	c := l.chains[tenant]
	if c == nil {
		var err error
		if c, err = l.begin(ctx, tenant); err != nil {
			return stream.Message{}, err
		}
	}
	r := Record{
		Tenant: tenant, Chain: c.Chain, Sequence: c.Sequence + 1, Previous: c.Hash,
		Time: e.time, Action: e.Action, Policy: e.Policy, Decision: e.decision(),
		Role: string(e.Caller.Role), Status: e.Status, DryRun: e.DryRun, Trace: e.Trace, Count: e.count,
	}
	if c.Sequence == 0 {
		r.After = c.after
	}
	private := Private{
		Subject: e.Caller.Subject, Groups: e.Caller.Groups, Address: e.Address, Path: e.Path, Tools: e.Tools, Reason: e.Reason, Search: e.Search, Call: e.Call, Changed: e.Changed,
	}
	if !private.empty() {
		k, err := l.deps.Keys.forSealing(ctx, tenant)
		if err == nil {
			err = k.seal(&r, &private)
		}
		if err != nil {
			return stream.Message{}, fmt.Errorf("audit: %w", err)
		}
	}
	line, hash, err := r.line()
	if err != nil {
		return stream.Message{}, fmt.Errorf("audit: %w", err)
	}
	c.Sequence, c.Hash, c.Time = r.Sequence, hash, r.Time
	l.chains[tenant] = c
	return stream.Message{Topic: events.Audit, Key: tenant, Value: line}, nil
}

func (e Event) tenant() string {
	switch {
	case e.Tenant != "":
		return e.Tenant
	case e.Caller.Tenant != "":
		return e.Caller.Tenant
	}
	return identity.DefaultTenant
}

func (e Event) decision() Decision {
	if e.Decision == "" {
		return Allowed
	}
	return e.Decision
}

// begin begins a chain, which will name the ends of those that are known.
func (l *Log) begin(ctx context.Context, tenant string) (*chain, error) {
	known, err := readHeads(ctx, l.deps.Heads, tenant)
	if err != nil {
		return nil, fmt.Errorf("audit: ends of the chains of %s: %w", tenant, err)
	}
	known = slices.DeleteFunc(known, func(h Head) bool { return h.Sequence == 0 })
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	c := &chain{after: known[max(0, len(known)-maxAfter):]}
	c.Chain, c.Time = hex.EncodeToString(id), time.Now().UTC()
	return c, l.putHead(ctx, tenant, c.Head) // so that a chain of nobody is told from one of a process that was killed
}

func (l *Log) putHead(ctx context.Context, tenant string, h Head) error {
	value, err := json.Marshal(h)
	if err == nil {
		_, err = l.deps.Heads.Put(ctx, tenant+"."+h.Chain, value)
	}
	return err
}

// readHeads returns the ends of a tenant's chains, the oldest first.
func readHeads(ctx context.Context, store HeadStore, tenant string) ([]Head, error) {
	keys, err := store.Keys(ctx, tenant+".")
	if err != nil {
		return nil, err
	}
	heads := []Head{}
	for _, key := range keys {
		e, err := store.Get(ctx, key)
		if errors.Is(err, stream.ErrNotFound) { // too old since
			continue
		}
		var h Head
		if err == nil {
			err = json.Unmarshal(e.Value, &h)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		heads = append(heads, h)
	}
	slices.SortFunc(heads, byTime)
	return heads, nil
}

// putHeads stores the ends of the chains that have grown. What cannot be stored is stored
// with the next ones.
func (l *Log) putHeads(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), headsEvery)
	defer cancel()
	for tenant, c := range l.chains {
		if c.stored == c.durable.Sequence {
			continue
		}
		if err := l.putHead(ctx, tenant, c.durable); err != nil {
			l.deps.Logger.Debug("audit: the end of a chain is not stored", "error", err)
			return
		}
		c.stored = c.durable.Sequence
	}
}
