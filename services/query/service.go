package query

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/query/catalogue"
	"github.com/toolstream/toolstream/services/query/record"
	"github.com/toolstream/toolstream/services/query/search"
	"github.com/toolstream/toolstream/services/query/weights"
)

// Deps are what the service works with. Optional are DeadLetters, Watcher, Versions, Other, Stale,
// Rewriter, Scorer and Names, as the parts that use them say; Now, the time of day; and Nonce,
// without which search ids cannot be guessed.
type Deps struct {
	search.Snapshot
	Other           func(indexVersion int) (s search.Snapshot, release func(), ok bool)
	Rewriter        search.Rewriter
	Names           search.Names
	Scorer          search.Scorer
	ScoresElsewhere bool
	Nonce           func() uint64
	Revisions       catalogue.Revisions
	Standardize     func(context.Context, *events.Change) error
	DeadLetters     catalogue.DeadLetters
	Watcher         stream.Watcher
	Versions        weights.Versions
	Stale           func() bool
	Publisher       stream.Publisher
	Impressions     int // that may wait to be published; 4096
	Policy          *policy.Store
	Now             func() time.Time
	Logger          *slog.Logger
	Registerer      prometheus.Registerer
}

// Service has the calls of its parts. All its methods may be called concurrently.
type Service struct {
	*search.Searcher
	*catalogue.Catalogue
	*record.Recorder
	weights *weights.Store
}

// New returns a service that answers at once, with the built-in weights. Run follows newer
// weights and publishes impressions.
func New(cfg search.Config, deps Deps) (*Service, error) {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Nonce == nil {
		deps.Nonce = record.RandomNonce
	}
	s := &Service{weights: weights.New(weights.Deps{
		Watcher: deps.Watcher, Versions: deps.Versions, Stale: deps.Stale, Logger: deps.Logger, Registerer: deps.Registerer,
	})}
	s.Recorder = record.New(record.Deps{
		Publisher: deps.Publisher, Deleted: func(tenant, id string) bool { return s.Deleted(tenant, id) }, Now: deps.Now,
		Waiting: cmp.Or(deps.Impressions, 4096), Logger: deps.Logger, Registerer: deps.Registerer,
	})
	var err error
	s.Searcher, err = search.New(cfg, search.Deps{
		Snapshot: deps.Snapshot, Other: deps.Other, Policy: deps.Policy, Weights: s.weights, Recorder: s.Recorder,
		Rewriter: deps.Rewriter, Names: deps.Names, Scorer: deps.Scorer, ScoresElsewhere: deps.ScoresElsewhere,
		Nonce: deps.Nonce, Logger: deps.Logger, Registerer: deps.Registerer,
	})
	if err != nil {
		return nil, err
	}
	s.Catalogue = catalogue.New(catalogue.Deps{
		Open: s.Open, Policy: deps.Policy, DeadLetters: deps.DeadLetters, Revisions: deps.Revisions, Standardize: deps.Standardize,
		Timeout: cfg.Timeout, Logger: deps.Logger,
	})
	return s, nil
}

// Routes adds the calls of the service to an API. An empty service only describes them.
func Routes(api huma.API, s *Service) {
	search.Routes(api, s.Searcher)
	record.Routes(api, s.Recorder)
	catalogue.Routes(api, s.Catalogue)
}

// Connect lets answers say whether tools can be called. It is called before the service is used.
func (s *Service) Connect(c search.Calls) {
	s.Searcher.Connect(c)
	s.Catalogue.Connect(c)
}

// Run follows weights and usage and publishes impressions until ctx ends and the waiting
// impressions are published, for a bounded time.
func (s *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Recorder.Run(ctx) })
	g.Go(func() error { return s.weights.Run(ctx) })
	return g.Wait()
}

// Erase forgets the weights and the usage of a tenant.
func (s *Service) Erase(tenant string) { s.weights.Erase(tenant) }
