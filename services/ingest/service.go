// Package ingest accepts tools and providers, gives every change its revision and
// puts it on the bus. An accepted change is durable. Changes of one entity that one
// process accepts are on the bus in the order of their revisions; where several
// processes accept changes, readers compare revisions.
//
// The service builds a table of what was accepted before by reading tools.raw. So a
// repeated document costs nothing, and an older version of a source does not come back.
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

	"github.com/toolstream/toolstream/internal/boilerplate"
	"github.com/toolstream/toolstream/internal/health"
	"github.com/toolstream/toolstream/internal/quota"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Config holds the limits of the service. The zero value of a field means its
// default.
type Config struct {
	MaxDocument    int               // bytes of one tool's or provider's document; 1 MiB
	MaxBody        int64             // bytes of a document, a line, or the events of one request, decompressed; 64 MiB
	MaxStream      int64             // bytes of one batch, decompressed, which is read in chunks; 8 GiB
	MaxItems       int               // items of one batch; 10,000,000
	PublishTimeout time.Duration     // of one commit; 10 s
	LoadWait       time.Duration     // how long a write waits for the table to be loaded; 5 s
	RetryAfter     time.Duration     // told to a client when the bus is down; 5 s
	EventWindow    int               // newest events whose repetition is recognised; 65,536
	EventTypes     map[string]string // own event types by those of other senders (ParseEventTypes)
	Origins        []string          // origins that may register for webhooks; "*" allows all, none are allowed by default

	Tools quota.Quota // tools and providers of a tenant; with several processes, a group of changes more

	// Shared says that other processes write to tools.raw, too. Then every commit first
	// waits until the table holds what is on the bus: the change that another process has
	// just accepted could otherwise be taken for absent.
	Shared bool
}

func (c Config) withDefaults() Config {
	c.MaxDocument = cmp.Or(c.MaxDocument, 1<<20)
	c.MaxBody = cmp.Or(c.MaxBody, 64<<20)
	c.MaxStream = cmp.Or(c.MaxStream, max(8<<30, c.MaxBody))
	c.MaxItems = cmp.Or(c.MaxItems, 10_000_000)
	c.PublishTimeout = cmp.Or(c.PublishTimeout, 10*time.Second)
	c.LoadWait = cmp.Or(c.LoadWait, 5*time.Second)
	c.RetryAfter = cmp.Or(c.RetryAfter, 5*time.Second)
	c.EventWindow = cmp.Or(c.EventWindow, 1<<16)
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
	publisher stream.Publisher
	follower  stream.Follower
	now       func() time.Time
	log       *slog.Logger
	metrics   *metrics

	clock      *clock
	table      *table
	counter    *boilerplate.Counter
	outdated   *outdated
	tail       *stream.Tail[update]
	progress   *progress
	commits    *stream.Batcher[*change]
	seen       *lru.Cache[eventKey, struct{}] // events that were accepted
	eventTypes map[string]eventType
	loaded     chan struct{} // closed once the table holds what was on the bus at the start
	ending     chan struct{} // closed once Run is to return
	health     health.State  // of accepting
}

// New returns a service that accepts nothing until Run has loaded the table.
func New(cfg Config, deps Deps) (*Service, error) {
	cfg = cfg.withDefaults()
	s := &Service{
		cfg:        cfg,
		publisher:  deps.Publisher,
		follower:   deps.Follower,
		now:        deps.Now,
		log:        deps.Logger,
		clock:      newClock(deps.Now),
		table:      newTable(),
		counter:    boilerplate.New(),
		outdated:   newOutdated(),
		progress:   newProgress(),
		eventTypes: eventTypes(cfg.EventTypes),
		loaded:     make(chan struct{}),
		ending:     make(chan struct{}),
	}
	s.commits = stream.NewBatcher(groupItems, groupBytes, s.ending, s.commitAll)
	s.metrics = newMetrics(deps.Registerer, s.table.Len, s.Ready)
	var err error
	if s.seen, err = lru.New[eventKey, struct{}](cfg.EventWindow); err != nil {
		return nil, fmt.Errorf("ingest: event window: %w", err)
	}
	s.tail = newTail(s, deps)
	return s, nil
}

// Run loads the table and commits changes until ctx ends; what was handed over by then
// is committed before it returns. It may be called once. The error is that of a bus that
// cannot recover; what else goes wrong with the bus is tried again.
func (s *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	context.AfterFunc(ctx, func() { close(s.ending) })
	g.Go(func() error { s.commits.Run(); return nil })
	g.Go(func() error { return s.tail.Run(ctx, nil) })
	g.Go(func() error { s.load(ctx); return nil })
	g.Go(func() error { return s.markAgain(ctx) })
	return g.Wait()
}

// Ready reports whether the table is loaded, so that changes can be accepted.
func (s *Service) Ready() bool {
	select {
	case <-s.loaded:
		return true
	default:
		return false
	}
}

// awaitLoaded waits for the table for at most Config.LoadWait.
func (s *Service) awaitLoaded(ctx context.Context) error {
	if s.Ready() {
		return nil
	}
	timer := time.NewTimer(s.cfg.LoadWait)
	defer timer.Stop()
	select {
	case <-s.loaded:
		return nil
	case <-s.ending:
		return unavailable(errStopped)
	case <-timer.C:
		return unavailable(errLoading)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ErrUnavailable is wrapped by the error that says that the service could not decide, or
// does not know what reached the bus. Sending the same request again is right.
var ErrUnavailable = errors.New("ingest")

var (
	errLoading = errors.New("the table of known tools is still being read from the bus")
	errStopped = errors.New("the service has stopped")
)

func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

// limits are those of one request's documents; file bounds what is read as a
// whole.
func (s *Service) limits(file int64) formats.Limits {
	return formats.Limits{Document: s.cfg.MaxDocument, File: int(file), Stream: file}
}
