package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
	"github.com/toolstream/toolstream/internal/kit/quota"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Config holds the limits of the service. The zero value of a field means its
// default.
type Config struct {
	MaxDocument int               // bytes of one tool's or provider's document; 1 MiB
	MaxBody     int64             // bytes of a document, a line, or the events of one request, decompressed; 64 MiB
	MaxStream   int64             // bytes of one batch, decompressed, which is read in chunks; 8 GiB
	MaxItems    int               // items of one batch; 10,000,000
	LoadWait    time.Duration     // how long a write waits for the table to be loaded; 5 s
	RetryAfter  time.Duration     // told to a client when the bus is down; 5 s
	EventTypes  map[string]string // our event types, by the types of other senders (ParseEventTypes)
	Origins     []string          // origins that may register for webhooks; "*" allows all, none are allowed by default

	Tools quota.Quota // tools and providers of a tenant; with several processes, a group of changes more

	// Shared says that other processes write to tools.raw, too. Then every commit first
	// waits until the table has caught up with the bus, so that it holds the changes that other
	// processes have just accepted.
	Shared bool
}

func (c Config) withDefaults() Config {
	c.MaxDocument = cmp.Or(c.MaxDocument, 1<<20)
	c.MaxBody = cmp.Or(c.MaxBody, 64<<20)
	c.MaxStream = cmp.Or(c.MaxStream, max(8<<30, c.MaxBody))
	c.MaxItems = cmp.Or(c.MaxItems, 10_000_000)
	c.LoadWait = cmp.Or(c.LoadWait, 5*time.Second)
	c.RetryAfter = cmp.Or(c.RetryAfter, 5*time.Second)
	return c
}

// Deps are what the service works with. All are required.
type Deps struct {
	Publisher  stream.Publisher
	Follower   stream.Follower
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Service accepts changes. Its methods may be called concurrently.
type Service struct {
	cfg       Config
	follower  stream.Follower
	log       *slog.Logger
	metrics   *metrics
	replica   *replica
	committer *committer
	health    lifecycle.Health // of accepting

	seen       *lru.Cache[eventKey, struct{}] // events accepted so far
	eventTypes map[string]eventType
}

// New returns a service that accepts nothing until Run has loaded the table.
func New(cfg Config, deps Deps) *Service {
	cfg = cfg.withDefaults()
	seen, _ := lru.New[eventKey, struct{}](eventWindow) // fails only for a size of 0
	types := ownEventTypes()
	for theirs, own := range cfg.EventTypes {
		types[theirs] = types[own]
	}
	s := &Service{
		cfg: cfg, follower: deps.Follower, log: deps.Logger, seen: seen, eventTypes: types,
		replica: newReplica(cfg.LoadWait, deps),
	}
	s.metrics = newMetrics(deps.Registerer, s.replica.table.Len, s.replica.ready)
	s.replica.unreadable = s.metrics.unreadable
	s.committer = newCommitter(cfg, deps, s.replica, s.metrics)
	return s
}

// Run loads the table and commits changes until ctx ends; it commits the
// changes that were handed over by then before it returns. It may be called once. It fails if
// the bus cannot recover; other failures of the bus are retried.
func (s *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	context.AfterFunc(ctx, func() { close(s.replica.ending) })
	g.Go(func() error { s.committer.batcher.Run(); return nil })
	g.Go(func() error { return s.replica.tail.Run(ctx, nil) })
	g.Go(func() error { s.replica.load(ctx); return nil })
	return g.Wait()
}

// Ready reports whether the table is loaded, so that changes can be accepted.
func (s *Service) Ready() bool { return s.replica.ready() }

// ErrUnavailable is wrapped by the error that says that the service could not decide, or
// does not know what reached the bus. Sending the same request again is right.
var ErrUnavailable = errors.New("ingest")

var (
	errLoading = errors.New("the table of known tools is still being read from the bus")
	errStopped = errors.New("the service has stopped")
)

func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

// limits returns the limits of a request's documents; file bounds a piece that is read as a
// whole.
func (s *Service) limits(file int64) formats.Limits {
	return formats.Limits{Document: s.cfg.MaxDocument, File: int(file), Stream: file}
}
