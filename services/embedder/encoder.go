package embedder

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Encoder embeds documents and queries exactly as the service does, without a
// bus: for evaluation and training, which have all documents at hand. Its
// methods may be called concurrently.
type Encoder struct {
	handler *handler
	queries *queries
}

// NewEncoder returns an encoder that works with a model. Batch is not used.
func NewEncoder(cfg Config, m Model, reg prometheus.Registerer) (*Encoder, error) {
	if m == nil || reg == nil {
		return nil, errors.New("encoder: a model and a registerer are wanted")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults(m.Dimensions())
	figures, err := newMetrics(reg)
	if err != nil {
		return nil, err
	}
	c := &caller{model: m, texts: cfg.Texts, parallel: cfg.Parallel, metrics: figures}
	asked := *c
	if q, ok := m.(QueryEmbedder); ok {
		asked.model = queryModel{q}
	}
	return &Encoder{
		handler: &handler{caller: c, memory: newLRU[textKey, []float32](cfg.Vectors), metrics: figures},
		queries: newQueries(&asked, cfg),
	}, nil
}

// Documents returns the vectors of each document, in order. It fails with the
// first text that can not be embedded.
func (e *Encoder) Documents(ctx context.Context, docs []*schema.Document) ([]*events.Vectors, error) {
	jobs := make([]*job, len(docs))
	wanted := newOrder()
	for i, doc := range docs {
		jobs[i] = &job{change: events.Change{Document: doc}}
		e.handler.lay(jobs[i])
		e.handler.fill(jobs[i], wanted)
	}
	e.handler.embed(ctx, wanted)
	out := make([]*events.Vectors, len(docs))
	for i, j := range jobs {
		j.place(wanted)
		if j.err != nil {
			return nil, j.err
		}
		out[i] = j.change.Vectors
	}
	return out, ctx.Err()
}

// Embed is Service.Embed.
func (e *Encoder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return e.queries.embed(ctx, texts)
}
