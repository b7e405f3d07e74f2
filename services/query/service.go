// Package query answers searches: it turns a query into needs, embeds them in
// one call, asks the index for candidates with exact scores on every field,
// adds what is known of usage, fuses, orders and explains. What was shown goes
// to the bus as an impression, so that feedback can retrain the weights.
//
// Nothing on this path waits for a language model unless one is configured,
// and no part but the index is needed: whatever else can not be asked is named
// in the answer's Degraded.
package query

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/working"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Index finds candidates. An error means that nothing could be searched.
type Index interface {
	// Candidates returns the best entities; with an *index.Partial, those that
	// could be found without a part of the index.
	Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error)
	// Suppliers returns for each tool those that answer with what it takes.
	Suppliers(ctx context.Context, tenant string, tools []string) ([][]index.Supplier, error)
}

// Catalogue says what is known of entities.
type Catalogue interface {
	// Get returns the entity, its raw document, and whether it is there.
	Get(ctx context.Context, ref schema.Ref) (schema.Entity, json.RawMessage, bool, error)
	// List returns up to limit entities above cursor in the order of their
	// ids, and the cursor of the next page, empty at the end. An empty agent
	// lists every owner's.
	List(ctx context.Context, tenant string, kind schema.Kind, agent, cursor string, limit int) ([]schema.Entity, string, error)
	// Version returns the newest version applied, deletes included.
	Version(ref schema.Ref) (v schema.Version, deleted, known bool)
}

// Embedder turns texts into unit vectors, one each and in order; an empty
// vector says that the text holds nothing to embed.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// DeadLetters tells whether a change ended in the dead letters. The key is
// events.Key of the entity.
type DeadLetters interface {
	Dead(key string, revision uint64) bool
}

// Watcher follows keys of a store. fn is called in order, first for every key
// that is there, with an empty value for a key that was deleted. Watch returns
// when ctx ends (nil) or the store is lost.
type Watcher interface {
	Watch(ctx context.Context, prefix string, fn func(stream.Entry) error) error
}

// maxDocuments is how many documents' words are remembered, and as many again of
// those before: about three megabytes.
const maxDocuments = 8192

// Config holds the limits of the service. The zero value of a field means its
// default.
type Config struct {
	Model        string        // name of the embedding model, which decides the weights and what queries can be compared with
	Timeout      time.Duration // of a whole search; 5 s
	EmbedTimeout time.Duration // of the one embed call; 1 s
	Impressions  int           // how many may wait to be published; 4096
	MinPool      int           // candidates asked of the index beside k; 100

	RewriteBudget time.Duration // for which a search waits for its rewriting, from its arrival; 1.5 s
	Speculative   bool          // search with the query as it is meanwhile

	Shadow float64 // share of the searches that weights on trial score beside the live ones

	Exploration float64 // share of the places, up to MaxExploration, that may go to tools that nobody has used

	Rerank    schema.Rerank // of searches that do not say it themselves; off
	Reranking rerank.Config // its bounds; rerank.DefaultConfig

	ScoreBudget time.Duration // for which a search waits for a cross-encoder; 500 ms
}

func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	if c.EmbedTimeout == 0 {
		c.EmbedTimeout = time.Second
	}
	if c.Impressions == 0 {
		c.Impressions = 4096
	}
	if c.MinPool == 0 {
		c.MinPool = 100
	}
	if c.RewriteBudget == 0 {
		c.RewriteBudget = 1500 * time.Millisecond
	}
	if c.ScoreBudget == 0 {
		c.ScoreBudget = 500 * time.Millisecond
	}
	if c.Rerank == "" {
		c.Rerank = schema.RerankOff
	}
	if c.Reranking == (rerank.Config{}) {
		c.Reranking = rerank.DefaultConfig()
	}
	return c
}

func (c Config) validate() error {
	if c.Timeout < 0 || c.EmbedTimeout < 0 || c.Impressions < 0 || c.MinPool < 0 || min(c.RewriteBudget, c.ScoreBudget) < 0 {
		return fmt.Errorf("query: negative limit in %+v", c)
	}
	if !(c.Exploration >= 0 && c.Exploration <= MaxExploration) {
		return fmt.Errorf("query: exploration %g is not between 0 and %g", c.Exploration, MaxExploration)
	}
	if err := c.Rerank.Validate(); err != nil {
		return fmt.Errorf("query: %w", err)
	}
	if c.Reranking == (rerank.Config{}) {
		return nil
	}
	return c.Reranking.Validate()
}

// Deps are what the service works with. Embedder, DeadLetters, Watcher, Stale,
// Rewriter and Scorer may be nil: then searches are lexical alone, no change
// counts as dead, the built-in weights serve, what the watcher says is never
// called stale, queries do as they are, and no cross-encoder judges. Without Now
// and NewID it is the time of day, and ids can not be guessed.
type Deps struct {
	Index       Index
	Catalogue   Catalogue
	Embedder    Embedder
	Publisher   stream.Publisher
	DeadLetters DeadLetters
	Watcher     Watcher
	Stale       func() bool // whether weights and usage may be behind the watched store
	Rewriter    Rewriter
	Scorer      Scorer
	Now         func() time.Time // of searches and feedback
	NewID       func() string    // of a search
	Logger      *slog.Logger
	Registerer  prometheus.Registerer
}

func (d Deps) withDefaults() Deps {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.NewID == nil {
		d.NewID = rand.Text
	}
	return d
}

func (d Deps) validate() error {
	switch {
	case d.Publisher == nil:
		return errors.New("query: no publisher")
	case d.Logger == nil:
		return errors.New("query: no logger")
	case d.Registerer == nil:
		return errors.New("query: no registerer")
	}
	return nil
}

// Service answers searches. All its methods may be called concurrently.
type Service struct {
	cfg         Config
	deps        Deps
	metrics     *metrics
	now         atomic.Pointer[serving]
	models      *live[*fusion.Model]
	shadows     *live[*fusion.Model]
	usage       *live[*usage]
	documents   *documents
	mute        working.State // the cross-encoder
	silent      working.State // answering
	deaf        working.State // taking feedback
	unread      working.State // the catalogue
	impressions *impressions
}

// New returns a service that answers at once, with the built-in weights; Run
// lets it learn of newer ones and publish impressions.
func New(cfg Config, deps Deps) (*Service, error) {
	if err := errors.Join(cfg.validate(), deps.validate()); err != nil {
		return nil, err
	}
	cfg, deps = cfg.withDefaults(), deps.withDefaults()
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	s := &Service{
		cfg:         cfg,
		deps:        deps,
		metrics:     m,
		models:      newModels(deps.Logger, m),
		usage:       newUsage(deps.Logger, m),
		documents:   newDocuments(maxDocuments),
		impressions: newImpressions(cfg.Impressions, deps.Publisher, deps.Logger, m),
	}
	s.shadows = newShadows(s.models)
	if err := s.observe(deps.Registerer); err != nil {
		return nil, err
	}
	first, err := newServing(View{cfg.Model, deps.Index, deps.Catalogue, deps.Embedder})
	s.now.Store(first)
	return s, err
}

// Run follows weights and usage and publishes impressions until ctx ends and
// the impressions that wait are published, which it tries for a bounded time.
func (s *Service) Run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.impressions.run(gctx) })
	if s.deps.Watcher != nil {
		g.Go(func() error { return s.models.follow(gctx, s.deps.Watcher) })
		g.Go(func() error { return s.shadows.follow(gctx, s.deps.Watcher) })
		g.Go(func() error { return s.usage.follow(gctx, s.deps.Watcher) })
	}
	return g.Wait()
}
