package trainer

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// State keeps the trainer's records on disk. It has one user at a time.
type State interface {
	// Load calls fn with every record, in the order of the keys. Key and value are valid
	// during the call only.
	Load(fn func(key string, value []byte) error) error
	// Get returns a record, nil if the key does not exist.
	Get(key string) ([]byte, error)
	// Save writes records durably, and deletes the keys with a nil value: all or nothing.
	Save(changes map[string][]byte) error
	// Erase deletes the records whose keys match, and leaves no trace of them on disk.
	Erase(match func(key string) bool) error
}

// Store holds the weights and the usage that query services read.
type Store interface {
	// Get fails with stream.ErrNotFound if the key does not exist.
	Get(ctx context.Context, key string) (stream.Entry, error)
	// Create fails with stream.ErrConflict if the key exists.
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	// Update fails with stream.ErrConflict if the key has another revision.
	Update(ctx context.Context, key string, value []byte, revision uint64) (newRevision uint64, err error)
	Delete(ctx context.Context, key string) error
	// Keys returns the keys that begin with prefix.
	Keys(ctx context.Context, prefix string) ([]string, error)
}

// Config tunes the trainer. The zero value of a field means its default.
type Config struct {
	Model       string        // embedding model that searches use at first; see Serve
	Window      time.Duration // how long after a search feedback counts; 24 h
	Tick        time.Duration // between two runs of Advance; 2 s
	Publish     time.Duration // shortest time between two versions of a tenant's weights; 1 min
	HalfLife    time.Duration // of a use; 14 days
	MinPairs    int           // pairs of a relevant and an irrelevant result before a tenant's own weights serve; 100
	Refit       int           // searches with feedback between two fits, or a quarter of the clusters if that is more; 32
	Clusters    int           // query clusters kept per tenant; 2,000
	Keep        int           // versions of weights kept per tenant; 50
	SearchBytes int           // size of the searches waiting for feedback, of all tenants; 512 MiB
	Waiting     int           // events waiting for their search, of all tenants; 20,000
	UsageBytes  int           // size of a tenant's published usage, and again of its outcomes; 512 KiB
}

// defaultWindow is how long after a search feedback counts.
const defaultWindow = 24 * time.Hour

func (c Config) withDefaults() Config {
	c.Window = cmp.Or(c.Window, defaultWindow)
	c.Tick = cmp.Or(c.Tick, 2*time.Second)
	c.Publish = cmp.Or(c.Publish, time.Minute)
	c.HalfLife = cmp.Or(c.HalfLife, 14*24*time.Hour)
	c.MinPairs = cmp.Or(c.MinPairs, 100)
	c.Refit = cmp.Or(c.Refit, 32)
	c.Clusters = cmp.Or(c.Clusters, 2000)
	c.Keep = cmp.Or(c.Keep, 50)
	c.SearchBytes = cmp.Or(c.SearchBytes, 512<<20)
	c.Waiting = cmp.Or(c.Waiting, 20_000)
	c.UsageBytes = cmp.Or(c.UsageBytes, 512<<10)
	return c
}

// Deps are the service's dependencies. Elected and Traces are optional.
type Deps struct {
	Follower   stream.Follower
	Publisher  stream.Publisher // for dead letters
	State      State
	Store      Store
	Elected    func() error // the reason why this process may not publish, nil if it may
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Traces     trace.TracerProvider
}

// Service is the trainer. Its methods may be called concurrently.
type Service struct {
	Weights *Weights

	cfg      Config
	deps     Deps
	model    atomic.Pointer[string]
	state    *stateStore
	joiner   *joiner
	learner  *learner
	searches *stream.Tail[schema.Impression]
	feedback *stream.Tail[schema.Feedback]
}

// New returns a trainer that does nothing until Run.
func New(cfg Config, deps Deps) (*Service, error) {
	cfg = cfg.withDefaults()
	s := &Service{cfg: cfg, deps: deps}
	s.Serve(cfg.Model)
	metrics := newMetrics(deps.Registerer)
	s.state = &stateStore{disk: deps.State, metrics: metrics}
	s.joiner = &joiner{cfg: cfg, state: s.state, follower: deps.Follower, now: deps.Now}
	s.learner = &learner{cfg: cfg, state: s.state, follower: deps.Follower, now: deps.Now, log: deps.Logger, model: s.Model}
	s.Weights = &Weights{
		publisher: &publisher{
			store: deps.Store, state: s.state, keep: cfg.Keep, model: s.Model, log: deps.Logger, published: metrics.published,
			stored: map[string]entry{}, synced: map[string]bool{}, erasing: map[string]bool{},
		},
		state: s.state, elected: deps.Elected, now: deps.Now, model: s.Model,
	}
	bus := stream.Deps{Follower: deps.Follower, Publisher: deps.Publisher, Logger: deps.Logger, Registerer: deps.Registerer, Traces: deps.Traces}
	s.searches = stream.NewTail(stream.Sink[schema.Impression]{
		Name: "trainer-searches", Topic: events.Searches, Decode: stream.Decode[schema.Impression], Apply: s.joiner.applySearches, Traced: true,
	}, bus)
	s.feedback = stream.NewTail(stream.Sink[schema.Feedback]{
		Name: "trainer-feedback", Topic: events.FeedbackTopic, Decode: stream.Decode[schema.Feedback], Apply: s.joiner.applyFeedback, Traced: true,
	}, bus)
	return s, nil
}

// Model returns the name of the embedding model that searches use.
func (s *Service) Model() string { return *s.model.Load() }

// Serve sets the embedding model that searches use from now on: its weights are shown,
// promoted and rolled back, and usage is published with its queries. Learning does not
// depend on it, because every search names its own model.
func (s *Service) Serve(model string) {
	if before := s.model.Swap(&model); before == nil || *before == model {
		return
	}
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	if m := s.state.memory; m != nil { // a memory that is loaded later makes all usage
		for _, t := range m.tenants {
			t.usageChanged = true
		}
	}
}

// Run learns and publishes until ctx ends, then returns nil. It fails if the state cannot
// be read. Call it once.
func (s *Service) Run(ctx context.Context) error {
	var searches, feedback map[int]uint64
	if err := s.state.view(func(m *memory) {
		searches, feedback = maps.Clone(m.positions[events.Searches]), maps.Clone(m.positions[events.FeedbackTopic])
	}); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.searches.Run(gctx, searches) })
	g.Go(func() error { return s.feedback.Run(gctx, feedback) })
	g.Go(func() error {
		ticker := time.NewTicker(s.cfg.Tick)
		defer ticker.Stop()
		for {
			select {
			case <-gctx.Done():
				return nil
			case <-ticker.C:
			}
			if err := s.Advance(gctx); err != nil && gctx.Err() == nil {
				s.deps.Logger.Warn("trainer: could not learn or publish, trying again", "error", err)
			}
		}
	})
	return g.Wait()
}

// Advance learns and publishes everything that is due. Run calls it every tick.
func (s *Service) Advance(ctx context.Context) error {
	p := s.Weights.publisher
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, step := range []func(context.Context) error{p.synchronise, s.learner.fit, s.learner.advance, p.publish} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Erase forgets everything about a tenant. While erasing is true, what the store still
// holds of the tenant is not read again.
func (s *Service) Erase(tenant string, erasing bool) error {
	p := s.Weights.publisher
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase(tenant, erasing)
	return s.state.erase(tenant)
}
