package standardizer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/events"
)

// Names of what the refresher reads, in metrics and logs.
const (
	refreshReads = "standardizer-refresh"
	refreshFinds = "standardizer-refresh-raw"
)

// RefreshConfig says how documents are made anew.
type RefreshConfig struct {
	Rate  float64       // documents a second at most; 1 when 0
	Retry time.Duration // before a document is tried again; 10 minutes when 0
}

// Uses tells how much tools are used.
type Uses interface {
	// Used returns how often, lately, a tool was used: more is more.
	Used(tenant, tool string) float64
}

// RefreshDeps is what a refresher works with.
type RefreshDeps struct {
	Wanted      Wanted // of the service
	Follower    stream.Follower
	Republisher stream.Republisher
	Publisher   stream.Publisher
	Uses        Uses        // optional: without it, what changed last comes first
	Ready       func() bool // whether the model would answer now; nil: always
	Now         func() time.Time
	Logger      *slog.Logger
	Registerer  prometheus.Registerer
}

// Refresher has documents made anew that were made by another prompt or model,
// or by rules while the model was away: slowly, the most used first. It puts
// the raw record of such a tool on tools.raw once more, where it keeps its place
// in the order of its key, and only while it is the newest. One at a time is to
// run; a second does needless work, no harm.
type Refresher struct {
	cfg     RefreshConfig
	deps    RefreshDeps
	table   *outdated
	made    *stream.Tail[docState]
	raw     *stream.Tail[rawState]
	metrics *refreshMetrics
}

// NewRefresher checks its arguments and registers metrics. It starts nothing.
func NewRefresher(c RefreshConfig, d RefreshDeps) (*Refresher, error) {
	if d.Follower == nil || d.Republisher == nil || d.Publisher == nil || d.Now == nil || d.Logger == nil || d.Registerer == nil {
		return nil, errors.New("refresher: a dependency is missing")
	}
	if c.Rate < 0 || c.Retry < 0 {
		return nil, errors.New("refresher: rate and retry can not be negative")
	}
	if c.Rate == 0 {
		c.Rate = 1
	}
	if c.Retry == 0 {
		c.Retry = 10 * time.Minute
	}
	m, err := newRefreshMetrics(d.Registerer)
	if err != nil {
		return nil, fmt.Errorf("refresher: %w", err)
	}
	r := &Refresher{cfg: c, deps: d, table: newOutdated(d.Wanted, c.Retry), metrics: m}
	return r, r.tails()
}

func (r *Refresher) tails() (err error) {
	deps := stream.Deps{Follower: r.deps.Follower, Publisher: r.deps.Publisher, Logger: r.deps.Logger, Registerer: r.deps.Registerer}
	if r.made, err = stream.NewTail(stream.Sink[docState]{
		Name: refreshReads, Topic: events.ToolsStandardized, Decode: r.table.readDocument, Apply: r.table.learnDocuments,
	}, deps); err != nil {
		return fmt.Errorf("refresher: %w", err)
	}
	if r.raw, err = stream.NewTail(stream.Sink[rawState]{
		Name: refreshFinds, Topic: events.ToolsRaw, Decode: readRaw, Apply: r.table.learnRaw,
	}, deps); err != nil {
		return fmt.Errorf("refresher: %w", err)
	}
	return nil
}

// Run refreshes until ctx ends.
func (r *Refresher) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.made.Run(ctx, nil) })
	g.Go(func() error { return r.raw.Run(ctx, nil) })
	g.Go(func() error { return r.pace(ctx) })
	return g.Wait()
}

// pace refreshes one document after the other.
func (r *Refresher) pace(ctx context.Context) error {
	tick := time.NewTicker(time.Duration(float64(time.Second) / r.cfg.Rate))
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		err := r.step(ctx)
		if err != nil && !failed && ctx.Err() == nil {
			r.deps.Logger.Warn("refresher: trying again", "error", err)
		}
		failed = err != nil
	}
}

// step refreshes the document that is worth it most, if there is one.
func (r *Refresher) step(ctx context.Context) error {
	if r.deps.Ready != nil && !r.deps.Ready() {
		return nil
	}
	now := r.deps.Now()
	next, waiting, ok := r.table.next(now, r.deps.Uses)
	r.metrics.waiting.Set(float64(waiting))
	if !ok {
		return nil
	}
	m, found, err := stream.ReadAt(ctx, r.deps.Follower, events.ToolsRaw, next.partition, next.offset)
	if err != nil {
		return err
	}
	r.table.postpone(next.key, now)
	if !found || m.Key != next.key {
		return nil
	}
	m.Headers = tracing.Without(m.Headers)
	m.Headers[events.HeaderRefresh] = r.deps.Wanted.String()
	done, err := r.deps.Republisher.Republish(ctx, m)
	if err != nil {
		return fmt.Errorf("republish %s: %w", next.key, err)
	}
	if done {
		r.metrics.asked.Inc()
	}
	return nil
}
