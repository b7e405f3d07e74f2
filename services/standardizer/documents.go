package standardizer

import (
	"context"
	"fmt"

	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Documents makes documents as the stage does, for who has no bus. It may be
// used concurrently.
type Documents struct{ filler *filler }

// NewDocuments checks the configuration and registers metrics. Of the
// dependencies it needs neither groups nor publisher.
func NewDocuments(c Config, d Deps) (*Documents, error) {
	if err := c.validate(d); err != nil {
		return nil, err
	}
	f, err := newFiller(c, d)
	if err != nil {
		return nil, fmt.Errorf("standardizer: %w", err)
	}
	return &Documents{f}, nil
}

// Standardize gives a change its document, and waits for the model. Where that does not
// answer, the document is as the rules made it. The error is a permanent one where there
// can be none, or that of ctx or the store of answers.
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
