package embedder

import (
	"errors"
	"fmt"
	"maps"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// Reasons of dead letters, beside those of events and stream.
const (
	ReasonBadKey      = "bad_key"      // no key, no value, or the key of another entity
	ReasonInvalid     = "invalid"      // the change is not what it has to be
	ReasonBadDocument = "bad_document" // an upsert that was not standardized
	ReasonBadVector   = "bad_vector"   // the model gives a text no usable vector
)

// decode reads a change, which must be the one that its key names.
func decode(m stream.Message) (events.Change, error) {
	if m.Key == "" || len(m.Value) == 0 {
		return events.Change{}, stream.Permanent(ReasonBadKey, errors.New("the record has no key or no value"))
	}
	c, err := stream.Decode[events.Change](m)
	if err != nil {
		return c, err
	}
	if err := c.Validate(); err != nil {
		return c, stream.Permanent(ReasonInvalid, err)
	}
	if key := events.Key(c.Ref); key != m.Key {
		return c, stream.Permanent(ReasonBadKey, fmt.Errorf("the record's key %q is not its entity's, %q", m.Key, key))
	}
	return c, nil
}

// encode returns the change as a record of a topic, under the headers of the
// record it came from.
func encode(m stream.Message, c *events.Change, into events.Topic) ([]stream.Message, error) {
	value, err := events.Encode(c)
	if err != nil {
		return nil, stream.Permanent(ReasonInvalid, err)
	}
	headers := maps.Clone(m.Headers)
	if headers == nil {
		headers = map[string]string{}
	}
	maps.Copy(headers, events.Headers(c))
	return []stream.Message{{Topic: into, Key: m.Key, Value: value, Headers: headers}}, nil
}
