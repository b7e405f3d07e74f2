// Package embedder turns the four fields of a document into vectors, field by
// field, carries the result into an index, and embeds the texts of queries.
//
// Nothing is embedded twice: a text is looked for in memory, then in what the
// index holds of the same entity, so that a changed document costs what
// changed and an unchanged one nothing, after a restart too.
package embedder

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// StageName is the consumer group of the stage, events.Numbered where the
// version is not the first.
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
	IndexVersion int           // whose topic is written; 1
	Texts        int           // texts in one call of the model; 128
	Parallel     int           // calls of the model at once; one a processor
	Timeout      time.Duration // of a call for a query; 10 s
}

// Deps are what the service works with. Cache may be nil: then only
// memory saves work.
type Deps struct {
	Model      Model
	Cache      Cache
	Groups     stream.Groups
	Publisher  stream.Publisher
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Traces     trace.TracerProvider // optional
}

// Service is the stage from tools.standardized to tools.embedded, and the
// embedder of queries. Its methods may be called concurrently.
type Service struct {
	*Encoder
	loop *stream.Loop
}

// New returns a service whose Embed works at once; Run runs the stage.
func New(cfg Config, deps Deps) (*Service, error) {
	e, err := NewEncoder(cfg, deps.Model, deps.Registerer)
	if err != nil {
		return nil, err
	}
	version := max(cfg.IndexVersion, 1)
	loop := stream.New(stream.Stage{
		Name:    events.Numbered(StageName, version),
		Topic:   events.ToolsStandardized,
		Handler: &handler{e, deps.Cache, events.Embedded(version)},
	}, stream.Deps{
		Groups: deps.Groups, Publisher: deps.Publisher,
		Logger: deps.Logger, Registerer: deps.Registerer, Traces: deps.Traces,
	})
	return &Service{e, loop}, nil
}

// Run embeds changes until ctx ends and the batches under way are done.
func (s *Service) Run(ctx context.Context) error {
	purging, stop := context.WithCancel(ctx)
	var purger sync.WaitGroup
	purger.Go(func() { s.purgeWhenIdle(purging) })
	defer purger.Wait()
	defer stop()
	return s.loop.Run(ctx)
}
