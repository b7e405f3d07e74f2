// Package ingest accepts tools and agents, gives every change its revision and
// puts it on the bus. What it has answered as accepted is durable; what is on
// the bus of one entity is in the order of its revisions.
//
// The service knows what it has accepted before from a table that it builds by
// reading tools.raw; so the same document again costs nothing, and an older
// version of a source does not come back.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/working"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Config holds the limits of the service. The zero value of a field means its
// default.
type Config struct {
	MaxDocument    int           // bytes of one tool's or agent's document; 1 MiB
	MaxBody        int64         // bytes of what is read as a whole, decompressed: a document, a line, one request's events; 64 MiB
	MaxStream      int64         // bytes of one batch, decompressed; 4 GiB
	MaxItems       int           // items of one batch; 1,000,000
	PublishTimeout time.Duration // of one commit; 10 s
	LoadWait       time.Duration // how long a write waits for the table to be loaded; 5 s
	RetryAfter     time.Duration // what a client is told when the bus is down; 5 s
	EventWindow    int           // events whose repetition is recognised, whatever they changed; 65,536
	Origins        []string      // that may register for webhooks (WebHook-Request-Origin); "*" is any, none are allowed by default

	// Shared says that other processes write to tools.raw too. Then the table
	// follows the bus for ever, and every commit first waits until it holds
	// what is there: or a change that another process has just accepted could
	// be taken for absent. Without it the bus is read at the start, and again
	// from the first commit on that ends without an answer.
	Shared bool
}

func (c Config) withDefaults() Config {
	orInt(&c.MaxDocument, 1<<20)
	orInt(&c.MaxBody, 64<<20)
	orInt(&c.MaxStream, max(4<<30, c.MaxBody))
	orInt(&c.MaxItems, 1_000_000)
	orInt(&c.PublishTimeout, 10*time.Second)
	orInt(&c.LoadWait, 5*time.Second)
	orInt(&c.RetryAfter, 5*time.Second)
	orInt(&c.EventWindow, 1<<16)
	return c
}

func orInt[T int | int64 | time.Duration](v *T, value T) {
	if *v == 0 {
		*v = value
	}
}

func (c Config) validate() error {
	if c.MaxDocument < 0 || c.MaxBody < 0 || c.MaxStream < 0 || c.MaxItems < 0 || c.EventWindow < 0 ||
		c.PublishTimeout < 0 || c.LoadWait < 0 || c.RetryAfter < 0 {
		return fmt.Errorf("ingest: negative limit in %+v", c)
	}
	return nil
}

// Deps are what the service works with. All are needed.
type Deps struct {
	Publisher  stream.Publisher
	Follower   stream.Follower
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (d Deps) validate() error {
	switch {
	case d.Publisher == nil:
		return errors.New("ingest: no publisher")
	case d.Follower == nil:
		return errors.New("ingest: no follower")
	case d.Now == nil:
		return errors.New("ingest: no clock")
	case d.Logger == nil:
		return errors.New("ingest: no logger")
	case d.Registerer == nil:
		return errors.New("ingest: no registerer")
	}
	return nil
}

// Service accepts changes. Its methods may be called concurrently.
type Service struct {
	cfg       Config
	publisher stream.Publisher
	follower  stream.Follower
	now       func() time.Time
	log       *slog.Logger
	metrics   *metrics

	clock     *Clock
	table     *Table
	tail      *stream.Tail[news]
	progress  *progress
	committer *committer
	seen      *window
	loaded    chan struct{} // closed once the table holds what was on the bus at the start
	doubted   chan struct{} // closed once a commit has ended without an answer; the committer's
	stopped   chan struct{} // closed once Run has returned
	refusing  working.State // accepting
}

// New returns a service that accepts nothing until Run has loaded the table.
func New(cfg Config, deps Deps) (*Service, error) {
	cfg = cfg.withDefaults()
	if err := errors.Join(cfg.validate(), deps.validate()); err != nil {
		return nil, err
	}
	s := &Service{
		cfg:       cfg,
		publisher: deps.Publisher,
		follower:  deps.Follower,
		now:       deps.Now,
		log:       deps.Logger,
		clock:     NewClock(deps.Now),
		table:     NewTable(),
		progress:  newProgress(),
		seen:      newWindow(cfg.EventWindow),
		loaded:    make(chan struct{}),
		doubted:   make(chan struct{}),
		stopped:   make(chan struct{}),
	}
	s.committer = newCommitter(s)
	var err error
	if s.metrics, err = newMetrics(deps.Registerer, s.table.Len, s.Ready); err != nil {
		return nil, err
	}
	s.tail, err = newTail(s, deps)
	return s, err
}

// Run loads the table, keeps it up with the bus where that is needed and commits
// changes until ctx ends; what was handed over by then is committed before it
// returns. It may be called once. The error is nil: what goes wrong with the bus is tried again.
func (s *Service) Run(ctx context.Context) error {
	defer close(s.stopped)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { s.committer.run(ctx); return nil })
	loading, enough := context.WithCancel(ctx)
	defer enough()
	g.Go(func() error { return s.follow(ctx, loading) })
	if s.cfg.Shared {
		g.Go(func() error { s.uncover(ctx); return nil })
	}
	g.Go(func() error {
		s.load(ctx)
		if !s.cfg.Shared {
			enough()
		}
		return nil
	})
	return g.Wait()
}

// follow reads the bus while loading, and goes on once what this service knows
// of its own commits is not all that may have become of them.
func (s *Service) follow(ctx, loading context.Context) error {
	if err := s.tail.Run(loading, nil); err != nil {
		return err
	}
	select {
	case <-s.doubted:
		return s.tail.Run(ctx, s.progress.positions())
	case <-ctx.Done():
		return nil
	}
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

// Loaded is closed once the service is ready.
func (s *Service) Loaded() <-chan struct{} { return s.loaded }

// awaitLoaded waits for the table, for a while.
func (s *Service) awaitLoaded(ctx context.Context) error {
	if s.Ready() {
		return nil
	}
	timer := time.NewTimer(s.cfg.LoadWait)
	defer timer.Stop()
	select {
	case <-s.loaded:
		return nil
	case <-s.stopped:
		return unavailable("accept", errStopped)
	case <-timer.C:
		return unavailable("accept", errLoading)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bounded gives the bus its time, also when the service is to stop.
func (s *Service) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), s.cfg.PublishTimeout)
}

// current makes sure that decisions are made on what is on the bus.
func (s *Service) current(ctx context.Context) error {
	if !s.cfg.Shared {
		return nil
	}
	if err := s.catchUp(ctx); err != nil {
		return unavailable("catch up", err)
	}
	return nil
}

// settled makes sure that the table holds what is on the bus, as far as
// anything but the service's own commits may be there.
func (s *Service) settled(ctx context.Context) error {
	select {
	case <-s.doubted:
	default:
		return s.current(ctx)
	}
	if err := s.catchUp(ctx); err != nil {
		return unavailable("catch up", err)
	}
	return nil
}

// limits are those of one request's documents; file bounds what is read as a
// whole.
func (s *Service) limits(file int64) formats.Limits {
	return formats.Limits{Document: s.cfg.MaxDocument, File: int(file), Stream: file}
}
