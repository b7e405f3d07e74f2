package flat

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The reasons for which a change is refused for good.
const (
	ReasonBadChange     = "bad_change"     // it names no entity, or holds no document
	ReasonBadVector     = "bad_vector"     // its vectors are missing or can not be searched
	ReasonModelMismatch = "model_mismatch" // its vectors come from another model than the index's
)

// newRecord turns a change into what is stored. Errors are permanent.
func newRecord(c *events.Change) (*record, error) {
	if c.Tenant == "" || c.ID == "" || c.Kind != schema.KindTool && c.Kind != schema.KindAgent {
		return nil, stream.Permanent(ReasonBadChange, fmt.Errorf("flat: change of %s %q of tenant %q", c.Kind, c.ID, c.Tenant))
	}
	r := &record{ref: c.Ref, version: c.Version, accepted: c.Accepted.UTC()}
	switch c.Op {
	case events.OpDelete:
		r.deleted = true
		return r, nil
	case events.OpUpsert:
		return r, r.fill(c)
	}
	return nil, stream.Permanent(ReasonBadChange, fmt.Errorf("flat: change %q of %s", c.Op, c.ID))
}

func (r *record) fill(c *events.Change) error {
	if c.Document == nil {
		return stream.Permanent(ReasonBadChange, fmt.Errorf("flat: %s has no document", c.ID))
	}
	document, err := json.Marshal(c.Document)
	if err != nil {
		return stream.Permanent(ReasonBadChange, fmt.Errorf("flat: document of %s: %w", c.ID, err))
	}
	r.agent, r.format, r.hash, r.tags = c.Agent, c.Format, c.Hash, c.Document.Tags
	r.document, r.raw, r.doc = document, c.Raw, c.Document
	r.required = make([]bool, len(c.Document.Parameters))
	for i := range c.Document.Parameters {
		r.required[i] = c.Document.Parameters[i].Required
	}
	if err := r.takeVectors(c); err != nil {
		return stream.Permanent(ReasonBadVector, fmt.Errorf("flat: vectors of %s: %w", c.ID, err))
	}
	return nil
}

// takeVectors checks and copies a change's vectors into one array.
func (r *record) takeVectors(c *events.Change) error {
	v := c.Vectors
	switch {
	case v == nil || v.Dimensions <= 0:
		return errors.New("there are none")
	case len(v.Parameters) > len(c.Document.Parameters):
		return fmt.Errorf("%d for %d parameters", len(v.Parameters), len(c.Document.Parameters))
	case max(len(v.Parameters), len(v.Examples)) > maxVectors:
		return fmt.Errorf("more than %d of one kind", maxVectors)
	}
	r.vectors = events.Vectors{Model: v.Model, Dimensions: v.Dimensions}
	all := make([]float32, 0, vectorBytes(v)/4)
	for kind, vector := range each(v) {
		if err := index.CheckVector(vector, v.Dimensions); err != nil {
			return fmt.Errorf("a vector of kind %d: %w", kind, err)
		}
		from := len(all)
		all = append(all, vector...)
		all = all[:from+v.Dimensions] // a text without words has no vector: zeros, which match nothing
		addVector(&r.vectors, kind, all[from:len(all):len(all)])
	}
	return nil
}
