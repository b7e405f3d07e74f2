package embedder

import (
	"context"
	"errors"
	"maps"

	"github.com/sourcegraph/conc/iter"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// handler embeds the documents of a batch together.
type handler struct {
	*Encoder
	stored Cache
	into   events.Topic // of what is embedded
}

// Handle returns each change with its vectors. Deletes, and the null records
// that follow long after, pass as they are, so that nothing overtakes them.
func (h *handler) Handle(ctx context.Context, msgs []stream.Message) []stream.Outcome {
	each := iter.Iterator[stream.Message]{MaxGoroutines: h.documents.parallel}
	jobs := make([]*job, len(msgs))
	each.ForEachIdx(msgs, func(i int, m *stream.Message) { jobs[i] = h.prepare(*m) })
	h.fill(ctx, jobs)
	out := make([]stream.Outcome, len(msgs))
	each.ForEachIdx(msgs, func(i int, m *stream.Message) { out[i] = h.finish(*m, jobs[i]) })
	return out
}

// prepare decodes a change and finds out what the index has of its document.
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
	h.lay(j)
	j.known = known(h.stored, j.change.Ref, h.documents.model)
	if len(doc.Parameters) > MaxParameters {
		h.metrics.cut.WithLabelValues(cutParameters).Inc()
	}
	if len(doc.Examples) > MaxExamples {
		h.metrics.cut.WithLabelValues(cutExamples).Inc()
	}
	return j
}

// finish returns the change with all its vectors, or the first error among them.
func (h *handler) finish(m stream.Message, j *job) stream.Outcome {
	if j.err != nil {
		return stream.Outcome{Err: j.err}
	}
	if m.IsNull() {
		return stream.Outcome{Out: []stream.Message{{Topic: h.into, Key: m.Key, Headers: maps.Clone(m.Headers)}}}
	}
	next, err := encode(m, &j.change, h.into)
	return stream.Outcome{Out: next, Err: err}
}
