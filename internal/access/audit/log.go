package audit

import (
	"cmp"
	"context"
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
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
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
	beside       = 64               // bytes of each in addition to its text
	maxAfter     = 16               // ends of other chains that a chain begins with, the last to be written
	maxRecent    = 256              // chains that these are chosen from, the last to begin
	headsAtOnce  = 32               // ends of chains that are read at once
	storeTimeout = 10 * time.Second // of one try to store a batch
	writeTimeout = 5 * time.Second  // that a request waits for its record
	headsEvery   = 5 * time.Second  // how old the stored end of a chain may be
)

// Deps are the dependencies of a Log.
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
	health  lifecycle.Health
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

// chain is the end of this process's chain of a tenant.
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

// Write returns nil once the record of an event is durable. After an error the record still
// waits to be written, until the process ends. Records of events that change nothing are
// written in the background unless many wait.
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

// put queues an event. It splits an event that names many tools or grants into several records
// that fit the bus: an oversized record would hold up all later ones.
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

// fitting divides a list into the items that fit into a record, and the rest. The size of an item
// is bounded by its text: JSON writes a byte of it as six at most.
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

// Run writes until ctx ends, and then the remaining records.
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

// write writes the waiting events, and the refusals that are due, or all of them.
func (l *Log) write(ctx context.Context, all bool) {
	for _, batch := range l.drain(time.Now(), all) {
		l.store(ctx, batch)
	}
}

// drain removes the waiting events and the refusals that are due, and returns them in batches.
func (l *Log) drain(now time.Time, all bool) (batches [][]*waiting) {
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

// store writes a batch, and tries until that succeeds or ctx ends. A record keeps its place in
// the chain, because it may be on the bus already. Waiting callers get the first failure.
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
		l.health.LogChange(ctx, l.deps.Logger, err, "audit: records cannot be written, and changes are refused", "audit: records are written again")
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

// settle reports the outcome of an event, once.
func (w *waiting) settle(err error) {
	select {
	case w.done <- err:
	default:
	}
}

// record makes the next record of a chain.
func (l *Log) record(ctx context.Context, e Event) (stream.Message, error) {
	tenant := cmp.Or(e.Tenant, e.Caller.Tenant, identity.DefaultTenant)
	c := l.chains[tenant]
	if c == nil {
		var err error
		if c, err = l.beginChain(ctx, tenant); err != nil {
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

func (e Event) decision() Decision { return cmp.Or(e.Decision, Allowed) }

// beginChain begins a chain, whose first record will name the known ends of other chains.
func (l *Log) beginChain(ctx context.Context, tenant string) (*chain, error) {
	keys, err := l.deps.Heads.Keys(ctx, tenant+".")
	var known []Head
	if err == nil {
		slices.Sort(keys)
		known, err = readHeads(ctx, l.deps.Heads, keys[max(0, len(keys)-maxRecent):])
	}
	if err != nil {
		return nil, fmt.Errorf("audit: ends of the chains of %s: %w", tenant, err)
	}
	known = slices.DeleteFunc(known, func(h Head) bool { return h.Sequence == 0 })
	id, err := uuid.NewV7() // names sort by the beginning of their chains
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	c := &chain{after: slices.Clone(known[max(0, len(known)-maxAfter):])}
	c.Chain, c.Time = hex.EncodeToString(id[:]), time.Now().UTC()
	return c, l.putHead(ctx, tenant, c.Head) // so that a forged chain differs from a chain of a killed process
}

func (l *Log) putHead(ctx context.Context, tenant string, h Head) error {
	value, err := json.Marshal(h)
	if err == nil {
		_, err = l.deps.Heads.Put(ctx, tenant+"."+h.Chain, value)
	}
	return err
}

// readAllHeads returns the ends of a tenant's chains, the oldest first.
func readAllHeads(ctx context.Context, store HeadStore, tenant string) ([]Head, error) {
	keys, err := store.Keys(ctx, tenant+".")
	if err != nil {
		return nil, err
	}
	return readHeads(ctx, store, keys)
}

// readHeads returns the ends of chains, the oldest first.
func readHeads(ctx context.Context, store HeadStore, keys []string) ([]Head, error) {
	var mu sync.Mutex // guards heads
	heads := []Head{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(headsAtOnce)
	for _, key := range keys {
		g.Go(func() error {
			e, err := store.Get(ctx, key)
			if errors.Is(err, stream.ErrNotFound) { // too old since
				return nil
			}
			var h Head
			if err == nil {
				err = json.Unmarshal(e.Value, &h)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			mu.Lock()
			defer mu.Unlock()
			heads = append(heads, h)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(heads, byTime)
	return heads, nil
}

// putHeads stores the ends of the chains that have grown. If it fails, the next call stores them.
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
