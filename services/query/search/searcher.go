package search

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/kit/fairqueue"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/catalogue"
	"github.com/toolstream/toolstream/services/query/record"
	"github.com/toolstream/toolstream/services/query/weights"
)

// Config holds the limits of searches. The zero value of a field means its default.
type Config struct {
	Timeout       time.Duration // of a whole search; 5 s
	EmbedTimeout  time.Duration // of the one embed call; 1 s
	Places        int           // searches that work at once, the others wait; one for each processor
	MaxWait       time.Duration // a search that would wait longer is refused; 1 s
	RewriteBudget time.Duration // longest wait for the rewriting of a query, from its arrival; 1.5 s
	ScoreBudget   time.Duration // longest wait for a cross-encoder; 500 ms
	Rerank        schema.Rerank // of searches that do not name one; off
	Reranking     rerank.Config // its bounds; rerank.DefaultConfig
	HoldBack      HoldBack      // flags of entities that rank behind all others; none
	Flags         []string      // that documents may have: a search that excludes others is refused; any
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	c.EmbedTimeout = cmp.Or(c.EmbedTimeout, time.Second)
	c.Places = cmp.Or(c.Places, runtime.GOMAXPROCS(0))
	c.MaxWait = cmp.Or(c.MaxWait, time.Second)
	c.RewriteBudget = cmp.Or(c.RewriteBudget, 1500*time.Millisecond)
	c.ScoreBudget = cmp.Or(c.ScoreBudget, 500*time.Millisecond)
	c.Rerank = cmp.Or(c.Rerank, schema.RerankOff)
	c.Reranking = cmp.Or(c.Reranking, rerank.DefaultConfig())
	return c
}

// Deps are the dependencies of a Searcher. Other, Rewriter, Scorer and Names are optional.
type Deps struct {
	Snapshot
	Other           func(indexVersion int) (s Snapshot, release func(), ok bool) // an index version by its number, open until release is called
	Policy          *policy.Store
	Weights         *weights.Store
	Recorder        *record.Recorder
	Rewriter        Rewriter
	Names           Names
	Scorer          Scorer
	ScoresElsewhere bool          // the Scorer waits for another process and uses no processor here
	Nonce           func() uint64 // differs with every search
	Logger          *slog.Logger
	Registerer      prometheus.Registerer
}

// Calls says which tools can be called from here, and hears which were found.
type Calls interface {
	catalogue.Connections
	// Callable returns the tools that a caller can call now.
	Callable(caller identity.Caller) *index.Callable
	// Unhealthy reports whether a tool ranks behind results that score as well.
	Unhealthy(e *schema.Entity) bool
	// Shown hears of the tools that a search has shown to a caller in a session, best first.
	Shown(caller identity.Caller, session, search string, tools []string)
}

// Searcher answers searches. Its methods may be called concurrently.
type Searcher struct {
	cfg       Config
	deps      Deps
	calls     Calls // nil: this process calls no tools
	metrics   *metrics
	now       atomic.Pointer[snapshot]
	queue     *fairqueue.Queue
	measuring chan struct{}                // full while a search of an evaluation works
	providers *lru.Cache[string, []string] // words of providers, by id

	searching, scoring lifecycle.Health // for the log
}

// providersKept bounds the cache of providers' words: a few MiB.
const providersKept = 1 << 14

// New returns a Searcher that answers at once.
func New(cfg Config, deps Deps) (*Searcher, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Rerank.Validate(); err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	first, err := newSnapshot(deps.Snapshot)
	if err != nil {
		return nil, err
	}
	providers, err := lru.New[string, []string](providersKept)
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	queue := fairqueue.New(fairqueue.Config{Slots: cfg.Places, MaxWait: cfg.MaxWait})
	s := &Searcher{cfg: cfg, deps: deps, metrics: newMetrics(deps.Registerer, queue), queue: queue, measuring: make(chan struct{}, 1), providers: providers}
	s.now.Store(first)
	return s, nil
}

// Connect lets results say whether tools can be called. It is called before the first search.
func (s *Searcher) Connect(c Calls) { s.calls = c }

// ErrBusy is returned for a search that would wait too long for its turn.
var ErrBusy = fmt.Errorf("%w: too many searches wait for their turn", catalogue.ErrUnavailable)

// ErrNotOperator is returned for a search that only an operator may ask for.
var ErrNotOperator = errors.New("weights may be named by operators only")

// LiveWeights names, in a request, the weights that searches of the tenant rank by.
const LiveWeights = "live"

// WeightsOf names the weights that searches of a tenant rank by. Their epoch is 0 for the built-in
// ones.
func (s *Searcher) WeightsOf(tenant string) (version string, epoch uint64) {
	now := s.now.Load()
	return cmp.Or(s.deps.Weights.Live(tenant, now.Model), now.builtin).Version, s.deps.Weights.Epoch(tenant, now.Model)
}

// Refused says why a tenant's newest weights and usage cannot serve. The last good ones do.
func (s *Searcher) Refused(tenant string) []string {
	return s.deps.Weights.Refused(tenant, s.now.Load().Model)
}

// Without names the parts that the last searches that wanted them went without, as answers do
// in "degraded".
func (s *Searcher) Without() []string {
	var parts []string
	if s.now.Load().embedding.Fails() {
		parts = append(parts, degradedVectors)
	}
	if s.deps.Weights.Stale() {
		parts = append(parts, degradedWeights)
	}
	if s.scoring.Fails() {
		parts = append(parts, degradedRerank)
	}
	return parts
}
