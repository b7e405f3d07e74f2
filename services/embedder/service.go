// Package embedder turns the four fields of a document into vectors, field by
// field, carries the result into an index, and embeds the texts of queries.
//
// Nothing is embedded twice: a text is looked for in memory, then in what the
// index holds of the same entity, so that a changed document costs what
// changed and an unchanged one nothing, after a restart too.
package embedder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// StageName is the consumer group of the stage, events.Numbered where the
// generation is not the first.
const StageName = "embedder"

// Model turns texts into vectors. It may be called concurrently.
type Model interface {
	// Name identifies the model and everything its vectors depend on.
	Name() string
	// Dimensions is the length of every vector.
	Dimensions() int
	// Embed returns one vector for each text, in order; an empty one says that
	// the text holds nothing to embed. An error marked stream.Permanent says
	// that these texts will always fail.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// QueryEmbedder is a Model that embeds queries in another way than documents,
// as those of the E5 and BGE families do. Its vectors compare with Embed's.
type QueryEmbedder interface {
	Model
	// EmbedQueries is Embed for texts of queries.
	EmbedQueries(ctx context.Context, texts []string) ([][]float32, error)
}

// queryModel is a QueryEmbedder seen as the model of its queries.
type queryModel struct{ QueryEmbedder }

func (m queryModel) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return m.EmbedQueries(ctx, texts)
}

// Cache is what an index already holds.
type Cache interface {
	// Previous returns the document and vectors that are stored of an entity.
	Previous(ref schema.Ref) (schema.Document, events.Vectors, bool)
}

// Config holds the limits of the service. The zero value of a field means its
// default.
type Config struct {
	Generation int // whose topic is written; 1

	Batch    int           // records in a batch; stream.DefaultBatch
	Texts    int           // texts in one call of the model; 128
	Parallel int           // calls of the model at once; one a processor
	Vectors  int           // document vectors kept in memory while documents come; as many as fit 32 MiB
	Queries  int           // query vectors kept in memory; as many as fit 8 MiB
	Timeout  time.Duration // of a call for a query; 10 s
}

func (c Config) withDefaults(dimensions int) Config {
	set := func(n *int, standard int) {
		if *n == 0 {
			*n = standard
		}
	}
	set(&c.Generation, 1)
	set(&c.Batch, stream.DefaultBatch)
	set(&c.Texts, 128)
	set(&c.Parallel, runtime.GOMAXPROCS(0))
	set(&c.Vectors, max(1, 32<<20/4/dimensions))
	set(&c.Queries, max(1, 8<<20/4/dimensions))
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	return c
}

func (c Config) validate() error {
	if min(c.Generation, c.Batch, c.Texts, c.Parallel, c.Vectors, c.Queries) < 0 || c.Timeout < 0 {
		return fmt.Errorf("embedder: negative limit in %+v", c)
	}
	return nil
}

// Deps are what the service works with. Cache and Ends may be nil: then only
// memory saves work, and the stage does not report its lag.
type Deps struct {
	Model      Model
	Cache      Cache
	Groups     stream.Groups
	Publisher  stream.Publisher
	Ends       stream.Ends
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Traces     trace.TracerProvider // optional
}

func (d Deps) validate() error {
	switch {
	case d.Model == nil:
		return errors.New("embedder: no model")
	case d.Model.Name() == "" || d.Model.Dimensions() < 1:
		return fmt.Errorf("embedder: model %q has %d dimensions", d.Model.Name(), d.Model.Dimensions())
	case d.Logger == nil:
		return errors.New("embedder: no logger")
	case d.Registerer == nil:
		return errors.New("embedder: no registerer")
	}
	return nil
}

// Service is the stage from tools.standardized to tools.embedded, and the
// embedder of queries. Its methods may be called concurrently.
type Service struct {
	model   string
	loop    *stream.Loop
	memory  *lru[textKey, []float32] // of the loop's handler
	queries *queries
}

// New returns a service whose Embed works at once; Run runs the stage.
func New(cfg Config, deps Deps) (*Service, error) {
	if err := errors.Join(cfg.validate(), deps.validate()); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults(deps.Model.Dimensions())
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	c := &caller{model: deps.Model, texts: cfg.Texts, parallel: cfg.Parallel, metrics: m}
	asked := *c
	if q, ok := deps.Model.(QueryEmbedder); ok {
		asked.model = queryModel{q}
	}
	memory := newLRU[textKey, []float32](cfg.Vectors)
	loop, err := stream.New(stream.Stage{
		Name:    events.Numbered(StageName, cfg.Generation),
		Topic:   events.ToolsStandardized,
		Batch:   cfg.Batch,
		Handler: &handler{caller: c, memory: memory, stored: deps.Cache, into: events.Embedded(cfg.Generation), metrics: m},
	}, stream.Deps{
		Groups: deps.Groups, Ends: deps.Ends, Publisher: deps.Publisher,
		Logger: deps.Logger, Registerer: deps.Registerer, Traces: deps.Traces,
	})
	if err != nil {
		return nil, err
	}
	return &Service{model: deps.Model.Name(), loop: loop, memory: memory, queries: newQueries(&asked, cfg)}, nil
}

// Run embeds changes until ctx ends and the batches under way are done.
func (s *Service) Run(ctx context.Context) error {
	sweeping, stop := context.WithCancel(ctx)
	var sweeper sync.WaitGroup
	sweeper.Go(func() { s.memory.sweep(sweeping, idle) })
	defer sweeper.Wait()
	defer stop()
	return s.loop.Run(ctx)
}

// idle is after how long without a document the memory of texts is let go: it
// serves imports, whose documents repeat each other's texts.
const idle = time.Minute

// Embed returns a unit vector for each text of a query, in order; an empty one
// where the text holds nothing to embed. The vectors are shared: they must not
// be changed.
func (s *Service) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return s.queries.embed(ctx, texts)
}
