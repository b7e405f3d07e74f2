package embedder

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// StageName is the consumer group of the stage. events.Numbered adds the number of the
// index version.
const StageName = "embedder"

// Model turns texts into vectors. It may be called concurrently.
type Model interface {
	// Name identifies the model and everything its vectors depend on.
	Name() string
	// Dimensions is the length of every vector.
	Dimensions() int
	// Embed returns one vector for each text, in order; an empty vector means that
	// the text has nothing to embed. An error marked stream.Permanent means
	// that these texts will always fail.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// QueryEmbedder is a Model that embeds queries in another way than documents, such as the
// E5 and BGE models. Its vectors can be compared with Embed's.
type QueryEmbedder interface {
	Model
	// EmbedQueries is Embed for texts of queries.
	EmbedQueries(ctx context.Context, texts []string) ([][]float32, error)
}

// Knower is a Model that knows some words and leaves out the others.
type Knower interface {
	// Known returns how much of a text the model knows, from 0 to 1.
	Known(text string) float32
}

// Cache is an index with earlier vectors.
type Cache interface {
	// Previous returns the stored document and vectors of an entity.
	Previous(ref schema.Ref) (schema.Document, events.Vectors, bool)
}

// Config holds the limits of the service. The zero value of a field means its
// default.
type Config struct {
	IndexVersion int           // whose topic is written; 1
	Texts        int           // texts in one call of the model; 128
	Parallel     int           // concurrent calls of the model; one per processor
	Timeout      time.Duration // of a call for a query; 10 s
}

// Deps are the service's dependencies.
type Deps struct {
	Model      Model
	Cache      Cache // optional
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

// New returns a service. Embed works at once, and Run runs the stage.
func New(cfg Config, deps Deps) (*Service, error) {
	e, err := NewEncoder(cfg, deps.Model, deps.Registerer)
	if err != nil {
		return nil, err
	}
	version := max(cfg.IndexVersion, 1)
	loop := stream.New(stream.Stage{
		Name:    events.Numbered(StageName, version),
		Topic:   events.ToolsStandardized,
		Handler: (&handler{e, deps.Cache, events.Embedded(version)}).handle,
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
