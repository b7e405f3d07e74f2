package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// MaxRevision is the largest revision: the largest integer that every reader
// of JSON holds exactly.
const MaxRevision = 1<<53 - 1

// Validate checks everything that the stages rely on: the entity, its version, and that the
// vectors can be searched. The error is a *schema.Invalid with path and value.
func (c *Change) Validate() error {
	if err := c.Ref.Validate(); err != nil {
		return err
	}
	if c.Op != OpUpsert && c.Op != OpDelete {
		return refuse("/op", string(c.Op), "must be %q or %q", OpUpsert, OpDelete)
	}
	if c.Revision == 0 || c.Revision > MaxRevision {
		return refuse("/revision", c.Revision, "must be 1 to %d", uint64(MaxRevision))
	}
	if c.Op == OpDelete {
		return nil
	}
	if c.Provider != "" {
		if err := schema.ValidateID(c.Provider); err != nil {
			return under("/provider", "/id", err)
		}
	}
	if c.CallableName != "" {
		if err := schema.ValidateCallableName(c.CallableName); err != nil {
			return err
		}
	}
	if len(c.Raw) > 0 && !json.Valid(c.Raw) {
		return refuse("/raw", string(c.Raw), "must be JSON")
	}
	if c.Document != nil {
		if err := c.Document.Validate(); err != nil {
			return under("/document", "", err)
		}
	}
	return c.Vectors.validate(c.Document)
}

// validate checks that all vectors are of one size, finite, and no more than
// the document has texts for. No vectors at all are valid.
func (v *Vectors) validate(doc *schema.Document) error {
	if v == nil {
		return nil
	}
	if v.Dimensions < 1 {
		return refuse("/vectors/dimensions", v.Dimensions, "must be at least 1")
	}
	if doc == nil {
		return refuse("/vectors", "", "must have a document")
	}
	if len(v.Examples) > len(doc.Examples) {
		return refuse("/vectors/examples", len(v.Examples), "must be at most %d, one for each example", len(doc.Examples))
	}
	if len(v.Parameters) > len(doc.Parameters) {
		return refuse("/vectors/parameters", len(v.Parameters), "must be at most %d, one for each parameter", len(doc.Parameters))
	}
	for path, vector := range v.All() {
		if err := vector.validate("/vectors/"+path, v.Dimensions); err != nil {
			return err
		}
	}
	return nil
}

// validate checks one vector; the vector of an absent text is empty.
func (v Vector) validate(path string, dimensions int) error {
	if len(v) != 0 && len(v) != dimensions {
		return refuse(path, len(v), "must have %d dimensions", dimensions)
	}
	for i, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return refuse(fmt.Sprintf("%s/%d", path, i), x, "must be a finite number")
		}
	}
	return nil
}

// All yields every vector with its path below the vectors: "name",
// "examples/0".
func (v *Vectors) All() func(yield func(path string, vector Vector) bool) {
	return func(yield func(string, Vector) bool) {
		for _, one := range []struct {
			path   string
			vector Vector
		}{{"name", v.Name}, {"flat", v.Flat}, {"description", v.Description}, {"response", v.Response}} {
			if !yield(one.path, one.vector) {
				return
			}
		}
		for _, list := range []struct {
			path    string
			vectors []Vector
		}{{"examples", v.Examples}, {"parameters", v.Parameters}} {
			for i, vector := range list.vectors {
				if !yield(fmt.Sprintf("%s/%d", list.path, i), vector) {
					return
				}
			}
		}
	}
}

func refuse(path string, value any, reason string, args ...any) error {
	quoted := ""
	if value != "" {
		quoted = schema.Quote(value)
	}
	return &schema.Invalid{Path: path, Value: quoted, Reason: fmt.Sprintf(reason, args...)}
}

// under moves the path of an Invalid below another one, in place of prefix.
func under(path, prefix string, err error) error {
	var bad *schema.Invalid
	if !errors.As(err, &bad) {
		return err
	}
	moved := *bad
	moved.Path = path + strings.TrimPrefix(bad.Path, prefix)
	return &moved
}
