// Package query answers searches: it turns a query into needs, embeds them in
// one call, asks the index for candidates with exact scores on every field,
// adds what is known of usage, fuses, orders and explains. What was shown goes
// to the bus as an impression, so that feedback can retrain the weights.
//
// Nothing on this path waits for a language model unless one is configured,
// and no part but the index is needed: every other part that does not answer is named
// in the answer's Degraded.
package query

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/toolstream/toolstream/internal/health"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
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
	// Get returns the entity, its raw document, and whether it is there for a scope.
	Get(ctx context.Context, ref schema.Ref, scope *policy.Scope) (schema.Entity, json.RawMessage, bool, error)
	// List returns up to limit entities above cursor in the order of their
	// ids, and the cursor of the next page, empty at the end. An empty provider
	// lists every owner's.
	List(ctx context.Context, tenant string, l index.Listing) ([]schema.Entity, string, error)
	// Named returns the ids of the tools of a scope that have a callable name, in their order.
	Named(ctx context.Context, tenant, name string, scope *policy.Scope) ([]string, error)
	// Version returns the newest version applied, deletes included.
	Version(ref schema.Ref) (v schema.Version, deleted, known bool)
	// Tools yields what grants know of every tool and provider of a tenant.
	Tools(tenant string) iter.Seq[policy.Tool]
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

// Config holds the limits of the service. The zero value of a field means its
// default.
type Config struct {
	Timeout       time.Duration // of a whole search; 5 s
	EmbedTimeout  time.Duration // of the one embed call; 1 s
	Places        int           // searches that work at once, the others wait; one for each processor
	MaxWait       time.Duration // a search that would wait longer is refused; 1 s
	Impressions   int           // how many may wait to be published; 4096
	RewriteBudget time.Duration // for which a search waits for its rewriting, from its arrival; 1.5 s
	ScoreBudget   time.Duration // for which a search waits for a cross-encoder; 500 ms
	Rerank        schema.Rerank // of searches that do not say it themselves; off
	Reranking     rerank.Config // its bounds; rerank.DefaultConfig
	HoldBack      HoldBack      // what stands behind all others; nothing
	Flags         []string      // that documents may have: a search that excludes others is refused; any
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	c.EmbedTimeout = cmp.Or(c.EmbedTimeout, time.Second)
	c.Places = cmp.Or(c.Places, runtime.GOMAXPROCS(0))
	c.MaxWait = cmp.Or(c.MaxWait, time.Second)
	c.Impressions = cmp.Or(c.Impressions, 4096)
	c.RewriteBudget = cmp.Or(c.RewriteBudget, 1500*time.Millisecond)
	c.ScoreBudget = cmp.Or(c.ScoreBudget, 500*time.Millisecond)
	c.Rerank = cmp.Or(c.Rerank, schema.RerankOff)
	c.Reranking = cmp.Or(c.Reranking, rerank.DefaultConfig())
	return c
}

// Deps are what the service works with. Optional are: DeadLetters, without which no
// change counts as dead; Watcher, without which the built-in weights serve; Versions, without
// which no version of the weights can be named but those and the live ones; Other; Stale;
// Rewriter; Scorer; Names, without which the names of tools count as texts only; Now, the time
// of day; and Nonce, without which search ids cannot be guessed.
type Deps struct {
	Snapshot
	Revisions       Revisions
	Standardize     func(context.Context, *events.Change) error // makes the document of a change
	Policy          *policy.Store                               // nil: every caller may do what its role may
	Publisher       stream.Publisher
	DeadLetters     DeadLetters
	Watcher         stream.Watcher
	Versions        Versions
	Other           func(indexVersion int) (s Snapshot, release func(), ok bool) // an index version that is there, which stays open until release is called
	Stale           func() bool                                                  // whether weights and usage may be behind the watched store
	Rewriter        Rewriter
	Scorer          Scorer
	Names           Names
	ScoresElsewhere bool             // the Scorer waits for another process, which takes no processor here
	Now             func() time.Time // of searches and feedback
	Nonce           func() uint64    // differs with every search
	Logger          *slog.Logger
	Registerer      prometheus.Registerer
}

// Names tells how much of a tool's name a query says.
type Names interface {
	// For returns a function for one goroutine, from a name to 0 for nothing or up to 1 for
	// all of it.
	For(query string) func(name string) float64
}

// Service answers searches. All its methods may be called concurrently.
type Service struct {
	cfg         Config
	deps        Deps
	metrics     *metrics
	now         atomic.Pointer[snapshot]
	weights     *watched[*fusion.Model]
	usage       *watched[*ranking.Usage]
	impressions *impressions
	queue       *queue
	measuring   chan struct{}                // full while a search of an evaluation works
	histories   *queue                       // of those that make the documents of many changes
	providers   *lru.Cache[string, []string] // words of providers, by id
	connections Connections                  // nil: nothing is called here

	// Whether these work, for the log.
	searching, reporting, reading, scoring, revising health.State
}

// Connections are those to tools that can be called here. They ask nobody.
type Connections interface {
	// Connections returns what says, during one request, whether a caller can call a tool now.
	Connections(caller identity.Caller) func(e *schema.Entity, raw json.RawMessage) schema.Connection
	// Unhealthy reports whether a tool stands behind results that score as well.
	Unhealthy(e *schema.Entity) bool
	// Shown hears which tools a search has shown to a caller, best first, and in which session.
	Shown(caller identity.Caller, session, search string, tools []string)
}

// Connect lets answers say whether tools can be called. It is called before the service is.
func (s *Service) Connect(c Connections) { s.connections = c }

// providersKept bounds the words of providers that are kept: a few MiB.
const providersKept = 1 << 14

// New returns a service that answers at once, with the built-in weights; Run lets it
// follow newer ones and publish impressions.
func New(cfg Config, deps Deps) (*Service, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Rerank.Validate(); err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Nonce == nil {
		deps.Nonce = randomNonce
	}
	if deps.Stale == nil {
		deps.Stale = func() bool { return false }
	}
	first, err := newSnapshot(deps.Snapshot)
	if err != nil {
		return nil, err
	}
	m := newMetrics(deps.Registerer)
	s := &Service{
		cfg:         cfg,
		deps:        deps,
		metrics:     m,
		weights:     newWatched("weights", weightsPrefix, decodeWeights, slog.LevelInfo, deps.Logger, m),
		usage:       newWatched("usage", usagePrefix, decodeUsage, slog.LevelDebug, deps.Logger, m),
		impressions: newImpressions(cfg.Impressions, deps.Publisher, deps.Logger, m),
	}
	if s.providers, err = lru.New[string, []string](providersKept); err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	s.queue, s.measuring, s.histories = newQueue(cfg.Places, cfg.MaxWait), make(chan struct{}, 1), newQueue(1, longestHistories)
	m.showQueue(deps.Registerer, s.queue)
	s.now.Store(first)
	s.showEpochs(deps.Registerer)
	return s, nil
}

// Run follows weights and usage and publishes impressions until ctx ends and
// the impressions that wait are published, which it tries for a bounded time.
func (s *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.impressions.run(ctx) })
	if s.deps.Watcher != nil {
		g.Go(func() error { s.weights.follow(ctx, s.deps.Watcher); return nil })
		g.Go(func() error { s.usage.follow(ctx, s.deps.Watcher); return nil })
	}
	return g.Wait()
}

// Snapshot is what searches see: the index of one embedding model and what belongs to
// it.
type Snapshot struct {
	Model           string // name of the embedding model, which decides the weights and what queries can be compared with
	Index           Index
	Catalogue       Catalogue
	Embedder        Embedder // of the model; nil: there is none here, and searches go by words alone
	EmbedsElsewhere bool     // the Embedder waits for another process, which takes no processor here
}

// snapshot is a Snapshot at work.
type snapshot struct {
	Snapshot
	builtin   *fusion.Model                 // its model's weights, until others are learned
	embedding health.State                  // of queries
	scale     atomic.Pointer[ranking.Scale] // of the model, once it is measured
	measured  singleflight.Group            // so that one search measures it for all
	readers   sync.RWMutex                  // read-locked by each
}

func newSnapshot(from Snapshot) (*snapshot, error) {
	builtin, err := fusion.ModelOf(fusion.BuiltinFor(from.Model))
	if err != nil {
		return nil, fmt.Errorf("query: built-in weights: %w", err)
	}
	return &snapshot{Snapshot: from, builtin: &builtin}, nil
}

// snapshot returns what is searched now. It stays open until release is called,
// whatever is switched to meanwhile.
func (s *Service) snapshot() (now *snapshot, release func()) {
	for {
		now := s.now.Load()
		// A writer waits for a snapshot only once it is not the current one any more.
		if !now.readers.TryRLock() {
			continue
		}
		if s.now.Load() == now {
			return now, now.readers.RUnlock
		}
		now.readers.RUnlock()
	}
}

// Switch lets what begins from now on see another snapshot, and what was learned with
// its model. What has begun before ends with the snapshot that it began with; wait
// returns once all of it has.
func (s *Service) Switch(to Snapshot) (wait func(), err error) {
	next, err := newSnapshot(to)
	if err != nil {
		return nil, err
	}
	before := s.now.Swap(next)
	return func() {
		before.readers.Lock()
		defer before.readers.Unlock() // to have waited is all
	}, nil
}
