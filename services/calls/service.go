package calls

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"runtime"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/fairqueue"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Config is how tools are called. The zero value of a field means its default.
type Config struct {
	Destructive  bool                       // without authentication: destructive calls are made, too
	Timeout      time.Duration              // of one call; 60 s
	MaxResult    int                        // bytes of an answer that are passed on; 1 MiB
	PerSource    int                        // slots of each source: calls at once; 32
	MaxWait      time.Duration              // for a slot; 5 s
	BreakerPause time.Duration              // without calls to a source that does not answer; 30 s
	Idempotency  time.Duration              // that results of calls with an idempotency key are kept; 10 min
	Record       bool                       // the audit log has arguments and results
	Providers    map[string]source.Provider // where tools without a callable source are called, by provider
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, time.Minute)
	c.MaxResult = cmp.Or(c.MaxResult, 1<<20)
	c.PerSource = cmp.Or(c.PerSource, 32)
	c.MaxWait = cmp.Or(c.MaxWait, 5*time.Second)
	c.BreakerPause = cmp.Or(c.BreakerPause, breakerPause)
	c.Idempotency = cmp.Or(c.Idempotency, 10*time.Minute)
	return c
}

// Deps are the ports of the service.
type Deps struct {
	// Tool returns a tool by its id or callable name, with its raw document. Its error wraps
	// Unknown if the caller may not find the tool, and is a *schema.Invalid if a name is ambiguous.
	Tool    func(ctx context.Context, caller identity.Caller, key string) (schema.Entity, json.RawMessage, error)
	Unknown error

	Policy      *policy.Store // nil without authentication
	Sources     func(tenant, name string) (Source, bool)
	Places      *source.Places
	MCP         Connector
	Idempotency Store
	Report      func(ctx context.Context, tenant string, f schema.Feedback) error
	Showed      func(tenant, search, tool string) bool // whether a search has shown a tool

	Now        func() time.Time // nil: time.Now
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Connector opens connections to MCP servers.
type Connector interface {
	Open(ctx context.Context, at source.Place) (source.Conn, error)
}

// Service calls tools. Its methods may be called concurrently.
type Service struct {
	cfg         Config
	deps        Deps
	metrics     *metrics
	checks      *fairqueue.Queue // of arguments that are checked: each takes a processor, and memory
	upstreams   *upstreams
	pool        *pool
	idempotency *idempotency
	health      *health
	searches    *searches
	outcomes    *outcomes
}

// maxChecks is how many calls may wait for the check of their arguments.
const maxChecks = 2048

// New returns a service. Run closes its connections.
func New(cfg Config, deps Deps) *Service {
	cfg = cfg.withDefaults()
	if deps.Now == nil {
		deps.Now = time.Now
	}
	m := newMetrics(deps.Registerer)
	tools, _ := lru.New[toolKey, *toolHealth](maxTools) // which fails for a size of 0
	searched, _ := lru.New[searcher, []search](maxSessions)
	s := &Service{
		cfg: cfg, deps: deps, metrics: m,
		checks:      fairqueue.New(fairqueue.Config{Slots: runtime.GOMAXPROCS(0), MaxWaiting: maxChecks}),
		upstreams:   &upstreams{cfg: cfg, log: deps.Logger, all: map[sourceKey]*upstream{}},
		idempotency: &idempotency{store: deps.Idempotency, keep: cfg.Idempotency, now: deps.Now, log: deps.Logger, kept: newLedger(maxKeptBytes, m.dropped)},
		health:      &health{now: deps.Now, list: tools}, searches: &searches{now: deps.Now, list: searched},
		outcomes: &outcomes{deliver: deps.Report, dropped: m.unreported, log: deps.Logger, queue: make(chan report, maxReports)},
	}
	s.pool = &pool{open: s.open, now: deps.Now, entries: map[connKey]*entry{}}
	return s
}

// sweepEvery is the interval between two sweeps of idle connections and upstreams.
const sweepEvery = time.Minute

// Run reports outcomes and closes idle connections until ctx ends. Then it closes all
// connections.
func (s *Service) Run(ctx context.Context) error {
	var g sync.WaitGroup
	g.Go(func() { s.outcomes.publish(ctx) })
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			s.pool.sweep(func(_ connKey, e *entry) bool { return e.users == 0 && s.deps.Now().Sub(e.used) > idleFor })
			s.upstreams.sweep()
		case <-ctx.Done():
		}
	}
	g.Wait()
	s.pool.sweep(func(connKey, *entry) bool { return true })
	s.pool.closing.Wait()
	return nil
}

// Shown remembers the results of a search, for calls that do not name their search.
func (s *Service) Shown(caller identity.Caller, session, search string, tools []string) {
	s.searches.add(caller, session, search, tools)
}

// Erase forgets a tenant: its tools, its callers and the results of their searches.
func (s *Service) Erase(tenant string) {
	s.health.erase(tenant)
	s.idempotency.kept.erase(tenant)
	s.searches.erase(tenant)
	s.pool.sweep(func(key connKey, _ *entry) bool { return key.tenant == tenant })
}
