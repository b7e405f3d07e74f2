// Package sources keeps tools in step with their sources: MCP servers, OpenAPI documents,
// folders, and registries, which name other sources. A source is declared once; from then on it
// is looked at, and package ingest accepts its changes.
//
// The store holds the declaration and the status of each source. Sources are divided among the
// processes by leases, and each has a goroutine and a connection of its own. A source
// fails alone: its tools stay, and its status says why.
package sources

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/internal/kit/quota"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Config is how sources are looked at. The zero value of a field means its default.
type Config struct {
	Permit   source.Permit
	Declared map[string]map[string]source.Spec // in the settings, by tenant and name
	Limits   source.Limits                     // 1,000 pages, 20,000 tools, 64 MiB
	Most     quota.Quota                       // sources of a tenant
	Timeout  time.Duration                     // of one look; 1 min
	Every    time.Duration                     // between looks where neither the source nor its declaration says; 5 min
	Parallel int                               // concurrent looks at sources that answer; 64. Other sources get a quarter of that.
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

// Store stores sources and their status. Its errors are as in package stream.
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
	InFlight   *inflight.Budget // nil: no limit
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Service keeps sources. Its methods may be called concurrently.
type Service struct {
	cfg       Config
	dir       *directory
	scheduler *scheduler
	crawler   *crawler
	hooks     *hooks
	shares    *Shares // nil: this process is the only one
	log       *slog.Logger
	metrics   *metrics
}

// New returns a service that looks at nothing until Run.
func New(cfg Config, deps Deps) *Service {
	cfg = cfg.withDefaults()
	m := newMetrics(deps.Registerer)
	dir := &directory{store: deps.Store, log: deps.Logger, loaded: make(chan struct{}), known: map[id]*entry{}}
	places := &source.Places{Permit: cfg.Permit, Transports: deps.Transports, Limits: cfg.Limits, Logger: deps.Logger}
	c := &crawler{cfg: cfg, dir: dir, index: deps.Index, connectors: deps.Connectors, places: places}
	seen, _ := lru.New[eventKey, struct{}](keptEvents) // fails only for a size of 0
	s := &Service{
		cfg: cfg, dir: dir, crawler: c, shares: deps.Shares, log: deps.Logger, metrics: m,
		scheduler: &scheduler{dir: dir, deps: workerDeps{
			crawler: c, metrics: m, log: deps.Logger, inFlight: deps.InFlight,
			answering: make(chan struct{}, cfg.Parallel), failing: make(chan struct{}, max(1, cfg.Parallel/4)),
		}, shards: map[int]bool{}, erasing: map[string]bool{}, workers: map[id]*worker{}},
		hooks: &hooks{dir: dir, places: places, log: deps.Logger, seen: seen, writers: map[id]*eventWriter{}},
	}
	dir.changed, dir.complete = s.scheduler.reconcile, s.scheduler.start
	return s
}

// Run keeps sources until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	s.scheduler.mu.Lock()
	s.scheduler.running = ctx
	s.scheduler.mu.Unlock()
	var g sync.WaitGroup
	g.Go(func() { s.dir.follow(ctx) })
	g.Go(func() { s.declare(ctx) })
	g.Go(func() { s.metrics.countStates(ctx, s.dir.states) })
	if s.shares == nil {
		for shard := range shards {
			s.scheduler.acquire(shard)
		}
		g.Go(func() { <-ctx.Done() })
	} else {
		g.Go(func() { s.shares.run(ctx, s.scheduler.acquire, s.scheduler.release) })
	}
	g.Wait()
	for shard := range shards {
		s.scheduler.release(shard)
	}
	s.crawler.hangups.Wait()
	s.crawler.places.Transports.Close()
	return nil
}

// Watch reads the store until ctx ends, for All alone: nothing is looked at.
func (s *Service) Watch(ctx context.Context) error {
	s.dir.follow(ctx)
	return nil
}

// declare writes the sources of the settings into the store. A source that was dropped
// from them stays, as if a user had added it: settings that were not rendered must not cost tools.
func (s *Service) declare(ctx context.Context) {
	pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(30*time.Second), backoff.WithMaxElapsedTime(0))
	declare := func() error {
		if err := s.dir.awaitLoaded(ctx); err != nil {
			return err
		}
		for tenant, all := range s.cfg.Declared {
			for name, spec := range all {
				if err := s.declareOne(ctx, id{tenant, name}, spec); err != nil {
					return fmt.Errorf("%s/%s: %w", tenant, name, err)
				}
			}
		}
		return s.undeclare(ctx)
	}
	_ = backoff.RetryNotify(declare, backoff.WithContext(pace, ctx), func(err error, _ time.Duration) {
		s.log.Warn("sources: the settings cannot be applied, trying again", "error", err)
	})
}

// declareOne writes a source of the settings into the store.
func (s *Service) declareOne(ctx context.Context, i id, spec source.Spec) error {
	if _, err := s.admit(i, spec); err != nil {
		s.log.Error("sources: the settings name a source that is not looked at", "source", i, "error", err)
		return nil // permanent
	}
	_, err := s.dir.modify(ctx, i, true, func(rec *record) error {
		rec.Declared, rec.Removed, rec.Spec = true, false, spec
		return nil
	})
	return err
}

// undeclare makes ordinary sources of declared sources that were dropped from the settings.
func (s *Service) undeclare(ctx context.Context) error {
	gone := s.dir.matching(func(i id, rec *record) bool {
		_, still := s.cfg.Declared[i.tenant][i.name]
		return rec.Declared && !still
	})
	for i := range gone {
		s.log.Info("sources: a source is no longer in the settings; it stays until it is removed", "source", i)
		if _, err := s.dir.modify(ctx, i, false, func(rec *record) error { rec.Declared = false; return nil }); err != nil {
			return err
		}
	}
	return nil
}
