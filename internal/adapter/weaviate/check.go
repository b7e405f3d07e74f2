package weaviate

import (
	"fmt"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// The reasons for which a change is refused for good.
const (
	ReasonBadChange     = "bad_change"     // it names no entity, or holds no document
	ReasonBadVector     = "bad_vector"     // its vectors are missing or can not be searched
	ReasonModelMismatch = "model_mismatch" // its vectors come from another model than the class's
	ReasonRejected      = "index_rejected" // Weaviate does not take it
)

// check returns a permanent error for a change that can never be stored. What
// Weaviate would refuse is better found before it is sent.
func (i *Index) check(c *events.Change) error {
	if err := c.Ref.Validate(); err != nil {
		return stream.Permanent(ReasonBadChange, fmt.Errorf("weaviate: %w", err))
	}
	switch {
	case c.Op == events.OpDelete:
		return nil
	case c.Op != events.OpUpsert:
		return stream.Permanent(ReasonBadChange, fmt.Errorf("weaviate: change %q of %s", c.Op, c.ID))
	case c.Document == nil:
		return stream.Permanent(ReasonBadChange, fmt.Errorf("weaviate: %s has no document", c.ID))
	case c.Vectors == nil || c.Vectors.Dimensions < 1:
		return stream.Permanent(ReasonBadVector, fmt.Errorf("weaviate: %s has no vectors", c.ID))
	case c.Vectors.Model != i.model.Name || c.Vectors.Dimensions != i.model.Dimensions:
		return stream.Permanent(ReasonModelMismatch, fmt.Errorf("weaviate: %s was embedded by %s in %d dimensions, class %s holds %s in %d",
			c.ID, c.Vectors.Model, c.Vectors.Dimensions, i.class, i.model.Name, i.model.Dimensions))
	case len(c.Vectors.Parameters) > len(c.Document.Parameters):
		return stream.Permanent(ReasonBadVector, fmt.Errorf("weaviate: %s has %d vectors for %d parameters",
			c.ID, len(c.Vectors.Parameters), len(c.Document.Parameters)))
	}
	for path, v := range c.Vectors.All() {
		if err := index.CheckVector(v, i.model.Dimensions); err != nil {
			return stream.Permanent(ReasonBadVector, fmt.Errorf("weaviate: vector %s of %s: %w", path, c.ID, err))
		}
	}
	return nil
}
