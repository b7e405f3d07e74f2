// Package sources keeps tools in step with where they come from: MCP servers, OpenAPI
// documents, folders, and registries, which name other sources. A source is declared once; from then on it is looked at, and what
// has changed is accepted as package ingest accepts everything else.
//
// The store holds what is declared and how each source is. Sources are divided among the
// processes by leases, and each has a goroutine and a connection of its own. A source
// fails alone: what it had stays, and its status says why.
package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/outbound"
	"github.com/toolstream/toolstream/internal/permit"
	"github.com/toolstream/toolstream/internal/quota"
	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Config is how sources are looked at. The zero value of a field means its default.
type Config struct {
	Permit   permit.Permit
	Declared map[string]map[string]source.Spec // in the settings, by tenant and name
	Limits   source.Limits                     // 1,000 pages, 20,000 tools, 64 MiB
	Most     quota.Quota                       // sources of a tenant
	Timeout  time.Duration                     // of one look; 1 min
	Every    time.Duration                     // between looks where neither the source nor its declaration says; 5 min
	Parallel int                               // looks at once at sources that answer; 64. A quarter of that is for those that do not.
}

func (c Config) withDefaults() Config {
	c.Limits.Pages = cmp.Or(c.Limits.Pages, 1000)
	c.Limits.Tools = cmp.Or(c.Limits.Tools, 20_000)
	c.Limits.Bytes = cmp.Or(c.Limits.Bytes, 64<<20)
	c.Timeout = cmp.Or(c.Timeout, time.Minute)
	c.Every = cmp.Or(c.Every, 5*time.Minute)
	c.Parallel = cmp.Or(c.Parallel, 64)
	return c
}

// Index takes what sources have: the service that accepts changes.
type Index interface {
	Accept(ctx context.Context, tenant string, items []formats.Item, opts ingest.Options) ([]ingest.Outcome, error)
	Preview(ctx context.Context, tenant string, items []formats.Item, opts ingest.Options) ([]ingest.Outcome, error)
	Owned(ctx context.Context, tenant, provider string) ([]string, error)
	Remove(ctx context.Context, tenant string, ids []string, opts ingest.Options) ([]ingest.Outcome, error)
	Revision(ctx context.Context) (uint64, error)
}

// Store is where sources and their status lie. Errors are those of package stream.
type Store interface {
	Get(ctx context.Context, key string) (stream.Entry, error)
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (newRevision uint64, err error)
	Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Delete(ctx context.Context, key string) error
	Follow(ctx context.Context, prefix string, fn func(stream.Entry) error, current func()) error
}

// Deps are what the service works with. Shares is nil where the process is the only one.
type Deps struct {
	Index      Index
	Store      Store
	Connectors map[string]source.Connector // by kind
	Transports *outbound.Transports
	Shares     *Shares
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Service keeps sources. Its methods may be called concurrently.
type Service struct {
	cfg        Config
	index      Index
	store      Store
	connectors map[string]source.Connector
	transports *outbound.Transports
	places     *permit.Places
	shares     *Shares
	log        *slog.Logger
	metrics    *metrics
	answering  chan struct{} // a place for each look at a source that answered last
	failing    chan struct{} // the same for the others
	loaded     chan struct{} // closed once the store was read
	hangups    sync.WaitGroup
	events     *lru.Cache[eventKey, struct{}] // that came before

	mu      sync.Mutex // guards what follows
	known   map[id]*held
	held    map[int]bool // shards
	erasing map[string]bool
	workers map[id]*worker
	running context.Context // of workers
	begun   bool            // the store was read
}

// held is what is known of a source. A revision is that of the store's entry; 0: there is none.
type held struct {
	spec          *record
	specRevision  uint64
	status        Status
	stateRevision uint64
	bell          *bell // nil before the first event
}

// New returns a service that looks at nothing until Run.
func New(cfg Config, deps Deps) *Service {
	cfg = cfg.withDefaults()
	s := &Service{
		cfg: cfg, index: deps.Index, store: deps.Store, connectors: deps.Connectors, transports: deps.Transports, shares: deps.Shares, log: deps.Logger,
		answering: make(chan struct{}, cfg.Parallel), failing: make(chan struct{}, max(1, cfg.Parallel/4)), loaded: make(chan struct{}),
		known: map[id]*held{}, held: map[int]bool{}, erasing: map[string]bool{}, workers: map[id]*worker{},
	}
	s.events, _ = lru.New[eventKey, struct{}](keptEvents) // which fails for none at all
	s.places = &permit.Places{Permit: cfg.Permit, Transports: deps.Transports, Limits: cfg.Limits, Logger: deps.Logger}
	s.metrics = newMetrics(deps.Registerer)
	return s
}

// Run keeps sources until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	s.mu.Lock()
	s.running = ctx
	s.mu.Unlock()
	var g sync.WaitGroup
	g.Go(func() { s.follow(ctx) })
	g.Go(func() { s.declare(ctx) })
	g.Go(func() { s.tally(ctx) })
	if s.shares == nil {
		for shard := range shards {
			s.take(shard)
		}
		g.Go(func() { <-ctx.Done() })
	} else {
		g.Go(func() { s.shares.run(ctx, s.take, s.leave) })
	}
	g.Wait()
	for shard := range shards {
		s.leave(shard)
	}
	s.hangups.Wait()
	s.transports.Close()
	return nil
}

// Watch reads the store until ctx ends, for All alone: nothing is looked at.
func (s *Service) Watch(ctx context.Context) error {
	s.follow(ctx)
	return nil
}

// follow reads the store until ctx ends, and again whenever it was lost.
func (s *Service) follow(ctx context.Context) {
	pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(30*time.Second), backoff.WithMaxElapsedTime(0))
	once := sync.OnceFunc(s.begin)
	follow := func() error {
		err := s.store.Follow(ctx, "", func(e stream.Entry) error { s.read(e); return nil }, func() { pace.Reset(); once() })
		return stream.OrDone(ctx, cmp.Or(err, errors.New("the watch ended")))
	}
	_ = backoff.RetryNotify(follow, backoff.WithContext(pace, ctx), func(err error, _ time.Duration) {
		s.log.Debug("sources: the store is away, what is known holds", "error", err)
	})
}

// begin starts looking at sources, once all of the store was read: a source is not to be
// looked at without its last status.
func (s *Service) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	for i := range s.known {
		s.reconcile(i)
	}
	close(s.loaded)
}

// read takes an entry of the store.
func (s *Service) read(e stream.Entry) {
	if rest, ok := cutPrefix(e.Key, specPrefix); ok {
		s.readSpec(rest, e)
	}
	if rest, ok := cutPrefix(e.Key, statePrefix); ok {
		s.readState(rest, e)
	}
}

func cutPrefix(key, prefix string) (id, bool) {
	if len(key) <= len(prefix) || key[:len(prefix)] != prefix {
		return id{}, false
	}
	return idOf(key[len(prefix):])
}

func (s *Service) readSpec(i id, e stream.Entry) {
	var rec *record
	if e.Value != nil {
		rec = new(record)
		if err := decode(e, rec); err != nil {
			s.log.Error("sources: a source cannot be read", "source", i, "error", err)
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.entry(i)
	if e.Revision <= h.specRevision {
		return
	}
	h.spec, h.specRevision = rec, e.Revision
	s.reconcile(i)
}

func (s *Service) readState(i id, e stream.Entry) {
	var status Status
	if e.Value != nil && decode(e, &status) != nil {
		return // the next look writes it anew
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.entry(i)
	if w := s.workers[i]; w == nil && e.Revision > h.stateRevision { // a worker knows better
		h.status, h.stateRevision = status, e.Revision
	}
}

// entry returns what is known of a source, which may be nothing. It is called with mu held.
func (s *Service) entry(i id) *held {
	h := s.known[i]
	if h == nil {
		h = &held{}
		s.known[i] = h
	}
	return h
}

// take begins to look at the sources of a shard.
func (s *Service) take(shard int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[shard] = true
	for i := range s.known {
		if shardOf(i) == shard {
			s.reconcile(i)
		}
	}
}

// leave ends that, and returns once nothing of it is under way.
func (s *Service) leave(shard int) {
	s.mu.Lock()
	delete(s.held, shard)
	var ended []*worker
	for i, w := range s.workers {
		if shardOf(i) == shard {
			ended = append(ended, w)
			s.stop(i)
		}
	}
	s.mu.Unlock()
	for _, w := range ended {
		<-w.done
	}
}

// reconcile starts, tells or stops the worker of a source. It is called with mu held.
func (s *Service) reconcile(i id) {
	h, w := s.known[i], s.workers[i]
	switch {
	case h.spec == nil || s.erasing[i.tenant] || !s.held[shardOf(i)] || !s.begun || s.running.Err() != nil:
		s.stop(i)
	case w == nil:
		ctx, cancel := context.WithCancel(s.running)
		w = newWorker(s, i, h.spec, h.status, cancel)
		s.workers[i] = w
		go w.run(ctx)
	default:
		w.tell(h.spec)
	}
}

// ended notes that a worker has ended by itself, or was stopped. A source that was removed
// may have been added anew by then.
func (s *Service) ended(w *worker) {
	close(w.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workers[w.id] != w {
		return
	}
	delete(s.workers, w.id)
	if h := s.known[w.id]; h.spec != nil && !h.spec.Removed {
		s.reconcile(w.id)
	}
}

// stop ends a worker. It is called with mu held.
func (s *Service) stop(i id) {
	if w := s.workers[i]; w != nil {
		w.cancel()
		delete(s.workers, i)
	}
}

// declare writes the sources of the settings into the store. What is no longer in them
// stays, as if a user had added it: settings that were not rendered must not cost tools.
func (s *Service) declare(ctx context.Context) {
	pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(30*time.Second), backoff.WithMaxElapsedTime(0))
	declare := func() error {
		if err := s.awaitLoaded(ctx); err != nil {
			return err
		}
		for tenant, all := range s.cfg.Declared {
			for name, spec := range all {
				if err := s.settle(ctx, id{tenant, name}, spec); err != nil {
					return fmt.Errorf("%s/%s: %w", tenant, name, err)
				}
			}
		}
		return s.release(ctx)
	}
	_ = backoff.RetryNotify(declare, backoff.WithContext(pace, ctx), func(err error, _ time.Duration) {
		s.log.Warn("sources: the settings cannot be applied, trying again", "error", err)
	})
}

// settle makes a source what the settings say.
func (s *Service) settle(ctx context.Context, i id, spec source.Spec) error {
	if _, err := s.admit(i, spec); err != nil {
		s.log.Error("sources: the settings name a source that is not looked at", "source", i, "error", err)
		return nil // another try is no help
	}
	_, err := s.modify(ctx, i, true, func(rec *record) error {
		rec.Declared, rec.Removed, rec.Spec = true, false, spec
		return nil
	})
	return err
}

// release makes ordinary sources of those that the settings do not name any more.
func (s *Service) release(ctx context.Context) error {
	var gone []id
	s.mu.Lock()
	for i, h := range s.known {
		if _, still := s.cfg.Declared[i.tenant][i.name]; h.spec != nil && h.spec.Declared && !still {
			gone = append(gone, i)
		}
	}
	s.mu.Unlock()
	for _, i := range gone {
		s.log.Info("sources: a source is no longer in the settings; it stays until it is removed", "source", i)
		if _, err := s.modify(ctx, i, false, func(rec *record) error { rec.Declared = false; return nil }); err != nil {
			return err
		}
	}
	return nil
}

// loadWait is how long a call waits for the store to be read.
const loadWait = 5 * time.Second

func (s *Service) awaitLoaded(ctx context.Context) error {
	select {
	case <-s.loaded:
		return nil
	default:
	}
	timer := time.NewTimer(loadWait)
	defer timer.Stop()
	select {
	case <-s.loaded:
		return nil
	case <-timer.C:
		return fmt.Errorf("%w: it is still being read", errStore)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// All returns the sources of a tenant by name, those that a source names below it.
func (s *Service) All(ctx context.Context, tenant string) ([]Source, error) {
	if err := s.awaitLoaded(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []Source{}
	for i, h := range s.known {
		if i.tenant == tenant && h.spec != nil {
			all = append(all, s.shown(i, h))
		}
	}
	slices.SortFunc(all, func(a, b Source) int {
		return cmp.Or(cmp.Compare(cmp.Or(a.Parent, a.Name), cmp.Or(b.Parent, b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// One returns a source of a tenant.
func (s *Service) One(tenant, name string) (Source, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.known[id{tenant, name}]
	if h == nil || h.spec == nil {
		return Source{}, false
	}
	return s.shown(id{tenant, name}, h), true
}

// shown returns a source as it is shown. It is called with mu held.
func (s *Service) shown(i id, h *held) Source {
	status := h.status
	if w := s.workers[i]; w != nil {
		status = w.status()
	}
	status = status.at(time.Now())
	switch {
	case h.spec.Removed:
		status.State, status.Next = Removing, time.Time{}
	case h.spec.Paused:
		status.State, status.Next = Paused, time.Time{}
	case status.State == "" || status.State == Paused:
		status.State = Polling // it will be
	}
	out := Source{Name: i.name, Spec: h.spec.Spec, Declared: h.spec.Declared, Parent: h.spec.Parent, Called: h.spec.Called, Status: status}
	if h.spec.Hook != nil {
		out.LastEvent = h.spec.Told
	}
	return out
}

// count counts the sources that this process looks at, by state.
func (s *Service) count() map[State]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[State]int{}
	for i := range s.workers {
		out[s.shown(i, s.known[i]).State]++
	}
	return out
}
