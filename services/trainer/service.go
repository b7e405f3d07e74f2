package trainer

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// State keeps what the trainer knows. It has one user at a time.
type State interface {
	// Load calls fn with every record, in the order of the keys. Key and value are fn's
	// during the call only.
	Load(fn func(key string, value []byte) error) error
	// Get returns one record, nil if there is none.
	Get(key string) ([]byte, error)
	// Save writes records, and deletes those whose value is nil: all of them durably, or
	// none.
	Save(changes map[string][]byte) error
	// Erase deletes the records whose keys match, and leaves nothing of them behind.
	Erase(match func(key string) bool) error
}

// Store is where weights and usage are published to the query services.
type Store interface {
	// Get fails with stream.ErrNotFound if there is no such key.
	Get(ctx context.Context, key string) (stream.Entry, error)
	// Create fails with stream.ErrConflict if the key is there.
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	// Update fails with stream.ErrConflict if the key has another revision.
	Update(ctx context.Context, key string, value []byte, revision uint64) (newRevision uint64, err error)
	Delete(ctx context.Context, key string) error
	// Keys returns the keys that begin with prefix.
	Keys(ctx context.Context, prefix string) ([]string, error)
}

// Config tunes the trainer. The zero value of a field means its default.
type Config struct {
	Model       string        // name of the embedding model that is searched by at first; see Serve
	Window      time.Duration // how long after a search feedback counts; 24 h
	Shadow      time.Duration // how long a shadow trial lasts at most; 0: fitted weights go live without one
	Tick        time.Duration // between two looks at what is to be learned and published; 2 s
	Publish     time.Duration // shortest time between two versions of a tenant's weights; 1 min
	HalfLife    time.Duration // of a counted use; 14 days
	MinPairs    int           // pairs of a relevant and an irrelevant result before a tenant's own weights serve; 100
	Sample      int           // searches that decide a shadow trial; 30
	Refit       int           // searches with feedback between two fits, or a quarter of the clusters if that is more; 32
	Clusters    int           // query clusters remembered of a tenant; 2,000
	Keep        int           // versions of weights kept per tenant; 50
	SearchBytes int           // bound on the searches that wait for feedback, of all tenants; 512 MiB
	Waiting     int           // events kept that wait for their search, of all tenants; 20,000
	UsageBytes  int           // bound on a tenant's published usage, and as much again on the outcomes of its clusters; 512 KiB
}

// defaultWindow is how long after a search feedback counts.
const defaultWindow = 24 * time.Hour

func (c Config) withDefaults() Config {
	c.Window = cmp.Or(c.Window, defaultWindow)
	c.Tick = cmp.Or(c.Tick, 2*time.Second)
	c.Publish = cmp.Or(c.Publish, time.Minute)
	c.HalfLife = cmp.Or(c.HalfLife, 14*24*time.Hour)
	c.MinPairs = cmp.Or(c.MinPairs, 100)
	c.Sample = cmp.Or(c.Sample, 30)
	c.Refit = cmp.Or(c.Refit, 32)
	c.Clusters = cmp.Or(c.Clusters, 2000)
	c.Keep = cmp.Or(c.Keep, 50)
	c.SearchBytes = cmp.Or(c.SearchBytes, 512<<20)
	c.Waiting = cmp.Or(c.Waiting, 20_000)
	c.UsageBytes = cmp.Or(c.UsageBytes, 512<<10)
	return c
}

// Deps are what the service works with. All are needed but Elected and Traces.
type Deps struct {
	Follower   stream.Follower
	Publisher  stream.Publisher // for dead letters
	State      State
	Store      Store
	Elected    func() error // says why another process publishes and this one may not; nil: it always may
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Traces     trace.TracerProvider
}

// Service is the trainer. Its methods may be called concurrently.
type Service struct {
	cfg      Config
	deps     Deps
	model    atomic.Pointer[string]
	metrics  *metrics
	searches *stream.Tail[schema.Impression]
	feedback *stream.Tail[schema.Feedback]

	// publishing is held from the decision what to publish until it is published, so that
	// an older epoch cannot overtake a newer one. It is taken before mu.
	publishing sync.Mutex
	stored     map[string]entry // by key of the store; guarded by publishing
	synced     map[string]bool  // by schema.ModelOwner and by key of usage, whether what the store has is known; guarded by publishing
	rested     time.Time        // when usage may be made again; guarded by publishing
	erasing    map[string]bool  // tenants about which nothing is read from the store; guarded by publishing

	mu     sync.Mutex // guards memory
	memory *memory    // nil: to be loaded from the state
}

// New returns a trainer that does nothing until Run.
func New(cfg Config, deps Deps) (*Service, error) {
	s := &Service{cfg: cfg.withDefaults(), deps: deps, stored: map[string]entry{}, synced: map[string]bool{}, erasing: map[string]bool{}}
	s.Serve(cfg.Model)
	s.metrics = newMetrics(deps.Registerer)
	bus := stream.Deps{Follower: deps.Follower, Publisher: deps.Publisher, Logger: deps.Logger, Registerer: deps.Registerer, Traces: deps.Traces}
	s.searches = stream.NewTail(stream.Sink[schema.Impression]{
		Name: "trainer-searches", Topic: events.Searches, Decode: stream.Decode[schema.Impression], Apply: s.applySearches, Traced: true,
	}, bus)
	s.feedback = stream.NewTail(stream.Sink[schema.Feedback]{
		Name: "trainer-feedback", Topic: events.FeedbackTopic, Decode: stream.Decode[schema.Feedback], Apply: s.applyFeedback, Traced: true,
	}, bus)
	return s, nil
}

// Model returns the name of the embedding model that is searched by.
func (s *Service) Model() string { return *s.model.Load() }

// Serve says by which embedding model is searched from now on: whose weights are shown,
// promoted and rolled back, and whose queries usage is published with. Every search says
// itself by which model it is learned from.
func (s *Service) Serve(model string) {
	if before := s.model.Swap(&model); before == nil || *before == model {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory != nil {
		for _, t := range s.memory.tenants {
			t.usageChanged = true
		}
	}
}

// Run learns and publishes until ctx ends, then returns nil. It fails if the state cannot
// be read. It is to be called once.
func (s *Service) Run(ctx context.Context) error {
	searches, feedback, err := s.positions()
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.searches.Run(gctx, searches) })
	g.Go(func() error { return s.feedback.Run(gctx, feedback) })
	g.Go(func() error { return s.tick(gctx) })
	return g.Wait()
}

// tick advances now and then. What fails is tried again with the next tick.
func (s *Service) tick(ctx context.Context) error {
	ticker := time.NewTicker(s.cfg.Tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := s.Advance(ctx); err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("trainer: could not learn or publish, trying again", "error", err)
		}
	}
}

// Advance learns and publishes what is due. Run calls it every tick.
func (s *Service) Advance(ctx context.Context) error {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	if err := s.synchronise(ctx); err != nil {
		return err
	}
	if err := s.fit(ctx); err != nil {
		return err
	}
	if err := s.advance(ctx); err != nil {
		return err
	}
	return s.publish(ctx)
}
