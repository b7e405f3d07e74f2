package standardizer

import (
	"context"

	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Documents makes documents as the stage does, without a bus. It is safe for concurrent use.
type Documents struct{ filler *filler }

// NewDocuments checks the configuration and registers metrics. It needs neither groups nor a
// publisher.
func NewDocuments(c Config, d Deps) (*Documents, error) {
	f, err := newFiller(c, d)
	if err != nil {
		return nil, err
	}
	return &Documents{f}, nil
}

// Standardize gives a change its document, and waits for the model. If the model does not
// answer, the document is as the rules made it. The error is permanent if no document can be
// made; other errors come from ctx or the store of answers.
func (d *Documents) Standardize(ctx context.Context, c *events.Change) error {
	return d.filler.document(ctx, c, func(ctx context.Context, s *subject) (verdict, error) {
		v, err := d.filler.decide(ctx, s)
		for v.Open && err == nil {
			v, err = d.filler.decide(ctx, s)
		}
		if llm.KindOf(err) != "" {
			return verdict{Fallback: schema.FallbackPending}, nil
		}
		return v, err
	})
}
