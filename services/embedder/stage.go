package embedder

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/sourcegraph/conc/iter"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// Reasons of dead letters. Package stream has more.
const (
	ReasonBadKey      = "bad_key"      // no key, no value, or the key of another entity
	ReasonInvalid     = "invalid"      // the change is malformed
	ReasonBadDocument = "bad_document" // an upsert without a standardized document
	ReasonBadVector   = "bad_vector"   // the model returned an unusable vector for a text
)

// handler embeds the documents of a batch together.
type handler struct {
	*Encoder
	stored Cache        // optional
	into   events.Topic // of embedded changes
}

// handle returns each change with its vectors. Deletes, and the null records that follow
// long after, pass unchanged, so that nothing overtakes them.
func (h *handler) handle(ctx context.Context, msgs []stream.Message) []stream.Outcome {
	each := iter.Iterator[stream.Message]{MaxGoroutines: h.documents.parallel}
	jobs := make([]*job, len(msgs))
	each.ForEachIdx(msgs, func(i int, m *stream.Message) { jobs[i] = h.prepare(*m) })
	h.fill(ctx, jobs)
	out := make([]stream.Outcome, len(msgs))
	each.ForEachIdx(msgs, func(i int, m *stream.Message) { out[i] = h.finish(*m, jobs[i]) })
	return out
}

// prepare decodes a change, and finds the texts of its document and the vectors that the
// index has of them.
func (h *handler) prepare(m stream.Message) *job {
	j := &job{}
	if m.IsNull() {
		return j
	}
	if j.change, j.err = decode(m); j.err != nil || j.change.Op == events.OpDelete {
		return j
	}
	doc := j.change.Document
	if doc == nil {
		j.err = stream.Permanent(ReasonBadDocument, errors.New("the change has no document"))
		return j
	}
	h.addSlots(j)
	if h.stored != nil {
		j.known = storedVectors(h.stored, j.change.Ref, h.documents.model)
	}
	if len(doc.Parameters) > MaxParameters {
		h.metrics.cut.WithLabelValues(cutParameters).Inc()
	}
	if len(doc.Examples) > MaxExamples {
		h.metrics.cut.WithLabelValues(cutExamples).Inc()
	}
	return j
}

// decode reads a change and checks that it belongs to the record's key.
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

// finish returns the change with its vectors, under the headers of the record that it came
// from, or the first error of its texts.
func (h *handler) finish(m stream.Message, j *job) stream.Outcome {
	if j.err != nil {
		return stream.Outcome{Err: j.err}
	}
	headers := maps.Clone(m.Headers)
	if m.IsNull() {
		return stream.Outcome{Out: []stream.Message{{Topic: h.into, Key: m.Key, Headers: headers}}}
	}
	value, err := events.Encode(&j.change)
	if err != nil {
		return stream.Outcome{Err: stream.Permanent(ReasonInvalid, err)}
	}
	if headers == nil {
		headers = map[string]string{}
	}
	maps.Copy(headers, events.Headers(&j.change))
	return stream.Outcome{Out: []stream.Message{{Topic: h.into, Key: m.Key, Value: value, Headers: headers}}}
}
