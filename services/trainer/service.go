package trainer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// State keeps what the trainer knows. It has one user at a time.
type State interface {
	// Load calls fn with every record, in the order of the keys. Key and value
	// are fn's during the call only.
	Load(fn func(key string, value []byte) error) error
	// Get returns one record, nil where there is none.
	Get(key string) ([]byte, error)
	// Save writes records, and deletes those whose value is nil: all of them
	// durably, or none.
	Save(changes map[string][]byte) error
}

// Store is where weights and usage are published to everybody who ranks.
type Store interface {
	Put(ctx context.Context, key string, value []byte) error
	// Get returns nil where there is no value.
	Get(ctx context.Context, key string) ([]byte, error)
	Delete(ctx context.Context, key string) error
	// Keys returns the keys that begin with prefix.
	Keys(ctx context.Context, prefix string) ([]string, error)
}

// Config tunes the trainer. The zero value of a field means its default.
type Config struct {
	Model      string        // name of the embedding model that is searched by at first; see Serve
	Window     time.Duration // how long after a search feedback counts; 24 h
	Shadow     time.Duration // how long learned weights are scored beside the live ones at most, until Sample searches say that they lose nothing; 0: they are not
	Mature     time.Duration // how long after a search nothing of it is used any more, as a rule; 10 min
	Settle     time.Duration // how long after its last feedback a search is learned from; 5 s
	Tick       time.Duration // how often is looked for what has settled and is to be published; 2 s
	Publish    time.Duration // shortest time between two versions of a tenant's weights; 1 min
	HalfLife   time.Duration // of a counted use; 14 days
	MinPairs   int           // pairs before a tenant's own weights serve; 100
	Sample     int           // searches that new weights are judged by before they serve; 30
	NewPairs   int           // further pairs before the next version; 32
	Retrain    int           // searches before learning begins anew from all questions, or a quarter of the questions; 32
	Questions  int           // remembered of a tenant; 2,000
	Keep       int           // versions of weights kept per tenant; 50
	Remembered int           // searches kept for joining, and as many event ids, of all tenants; 200,000
	// RememberedBytes bounds these searches by what they take in the state, before what a
	// file adds to that; 512 MiB.
	RememberedBytes int
	Waiting         int                // events kept whose search is not known yet, of all tenants, half of them of one at most; 20,000
	UsageBytes      int                // bound on one tenant's published usage, and as much again on what came of its questions; 512 KiB
	Learn           fusion.LearnConfig // steps; rate 0.002, batch 64, L2 0.1, clip 1
}

// defaultWindow is how long after a search feedback counts.
const defaultWindow = 24 * time.Hour

func (c Config) withDefaults() Config {
	orDefault(&c.Window, defaultWindow)
	orDefault(&c.Mature, 10*time.Minute)
	orDefault(&c.Settle, 5*time.Second)
	orDefault(&c.Tick, 2*time.Second)
	orDefault(&c.Publish, time.Minute)
	orDefault(&c.HalfLife, 14*24*time.Hour)
	orDefault(&c.MinPairs, 100)
	orDefault(&c.NewPairs, 32)
	orDefault(&c.Retrain, 32)
	orDefault(&c.Questions, 2000)
	orDefault(&c.Sample, 30)
	orDefault(&c.Keep, 50)
	orDefault(&c.Remembered, 200_000)
	orDefault(&c.RememberedBytes, 512<<20)
	orDefault(&c.Waiting, 20_000)
	orDefault(&c.UsageBytes, 512<<10)
	orDefault(&c.Learn.Rate, 0.002)
	orDefault(&c.Learn.Batch, 64)
	orDefault(&c.Learn.L2, 0.1)
	orDefault(&c.Learn.Clip, 1)
	return c
}

func orDefault[T int | float64 | time.Duration](v *T, value T) {
	if *v == 0 {
		*v = value
	}
}

func (c Config) validate() error {
	for _, d := range []time.Duration{c.Window, c.Shadow, c.Mature, c.Settle, c.Tick, c.Publish, c.HalfLife} {
		if d < 0 {
			return fmt.Errorf("trainer: negative duration in %+v", c)
		}
	}
	for _, n := range []int{c.MinPairs, c.Sample, c.NewPairs, c.Retrain, c.Questions, c.Keep, c.Remembered, c.RememberedBytes, c.Waiting, c.UsageBytes, c.Learn.Batch} {
		if n < 0 {
			return fmt.Errorf("trainer: negative limit in %+v", c)
		}
	}
	return nil
}

// Deps are what the service works with. All are needed but Traces.
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

func (d Deps) validate() error {
	switch {
	case d.Follower == nil || d.Publisher == nil:
		return errors.New("trainer: no bus")
	case d.State == nil || d.Store == nil:
		return errors.New("trainer: no state or no store")
	case d.Now == nil:
		return errors.New("trainer: no clock")
	case d.Logger == nil || d.Registerer == nil:
		return errors.New("trainer: no logger or no registerer")
	}
	return nil
}

// Service is the trainer. Its methods may be called concurrently.
type Service struct {
	cfg      Config
	deps     Deps
	model    atomic.Pointer[string]
	metrics  *metrics
	searches *stream.Tail[schema.Impression]
	feedback *stream.Tail[schema.Feedback]

	// publishing is held from the decision what to publish until it is
	// published, so that an older epoch can not overtake a newer one. It is
	// taken before mu.
	publishing sync.Mutex
	synced     map[string]bool // by schema.ModelOwner, whether the epoch of the published weights is known; guarded by publishing
	counted    map[string]bool // by tenant, whether that of the published usage is; guarded by publishing
	rested     time.Time       // when usage may be made again; guarded by publishing

	mu     sync.Mutex // guards memory
	memory *memory    // nil: to be loaded from the state
}

// New returns a trainer that does nothing until Run.
func New(cfg Config, deps Deps) (*Service, error) {
	if err := errors.Join(cfg.validate(), deps.validate()); err != nil {
		return nil, err
	}
	s := &Service{cfg: cfg.withDefaults(), deps: deps, synced: map[string]bool{}, counted: map[string]bool{}}
	s.Serve(cfg.Model)
	var err error
	if s.metrics, err = newMetrics(deps.Registerer); err != nil {
		return nil, err
	}
	bus := stream.Deps{Follower: deps.Follower, Publisher: deps.Publisher, Logger: deps.Logger, Registerer: deps.Registerer, Traces: deps.Traces}
	s.searches, err = stream.NewTail(stream.Sink[schema.Impression]{
		Name: "trainer-searches", Topic: events.Searches, Decode: decoder(events.DecodeImpression), Apply: s.applySearches, Traced: true,
	}, bus)
	if err != nil {
		return nil, err
	}
	s.feedback, err = stream.NewTail(stream.Sink[schema.Feedback]{
		Name: "trainer-feedback", Topic: events.FeedbackTopic, Decode: decoder(events.DecodeFeedback), Apply: s.applyFeedback, Traced: true,
	}, bus)
	return s, err
}

// decoder reads a message's value; a later schema version is a reason of its
// own.
func decoder[T any](decode func([]byte) (T, error)) func(stream.Message) (T, error) {
	return func(m stream.Message) (T, error) {
		v, err := decode(m.Value)
		if events.IsUnknownSchema(err) {
			err = stream.Permanent(events.ReasonUnknownSchema, err)
		}
		return v, err
	}
}

// Model returns the name of the embedding model that is searched by.
func (s *Service) Model() string { return *s.model.Load() }

// Serve says by which embedding model is searched from now on: whose weights are
// shown, promoted and rolled back. What is learned from is told by each search.
func (s *Service) Serve(model string) { s.model.Store(&model) }

// Run learns and publishes until ctx ends, then returns nil. It fails where
// the state can not be read. It is to be called once.
func (s *Service) Run(ctx context.Context) error {
	s.beginTurn()
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

// beginTurn forgets what the store had: before this process was elected others may have
// published.
func (s *Service) beginTurn() {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	clear(s.synced)
	clear(s.counted)
}

// tick settles and publishes now and then. What fails is tried again with the
// next tick.
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
			s.deps.Logger.Warn("trainer: not advanced, trying again", "error", err)
		}
	}
}

// Advance learns from what has settled and publishes what is due. Run calls it
// every tick.
func (s *Service) Advance(ctx context.Context) error {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	if err := s.synchronise(ctx); err != nil {
		return err
	}
	if err := s.learn(ctx); err != nil {
		return err
	}
	if err := s.change(s.prepare); err != nil {
		return err
	}
	if err := s.prepareUsage(); err != nil {
		return err
	}
	return s.publish(ctx)
}

// learn learns from all searches that have settled, for about a tick: where more settle
// meanwhile than can be learned from, what was learned is published in between, and who
// changes weights gets a turn. The next tick goes on.
func (s *Service) learn(ctx context.Context) error {
	ends := s.ends(ctx)
	for until := s.deps.Now().Add(s.cfg.Tick); ; {
		if err := s.change(func(m *memory) error {
			m.look(s.deps.Now(), ends, s.cfg.Settle)
			return s.settle(m)
		}); err != nil {
			return err
		}
		if began, err := s.beginAnew(ctx); !began || err != nil || !s.deps.Now().Before(until) {
			return err
		}
	}
}
