package standardizer

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/standardizer/rules"
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

// Standardize gives a change its document. The error is a permanent one where
// there can be none, or that of ctx.
func (d *Documents) Standardize(ctx context.Context, c *events.Change) error {
	return d.filler.document(ctx, c)
}

// document gives a change its document: by rules, and by a model where there is
// one.
func (f *filler) document(ctx context.Context, c *events.Change) error {
	doc, err := rules.Standardize(c.Format, c.ID, c.Raw)
	if errors.Is(err, rules.ErrFormat) {
		return stream.Permanent(ReasonUnknownFormat, err)
	}
	if err != nil {
		return stream.Permanent(ReasonBadDocument, err)
	}
	if doc, err = f.fill(ctx, c, doc); err != nil {
		return err
	}
	c.Document = &doc
	return nil
}
