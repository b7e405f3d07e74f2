package embedder

import (
	"context"
	"errors"

	"github.com/sourcegraph/conc/iter"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// handler embeds the documents of a batch together.
type handler struct {
	caller  *caller
	memory  *lru[textKey, []float32]
	stored  Cache
	into    events.Topic // of what is embedded
	metrics *metrics
}

// job is one change on its way through the stage.
type job struct {
	change events.Change
	slots  []slot
	known  map[string][]float32 // by text, what the index holds of the entity
	err    error
}

// Handle returns each change with its vectors. Deletes, and the null records
// that follow long after, pass as they are, so that nothing overtakes them.
func (h *handler) Handle(ctx context.Context, msgs []stream.Message) []stream.Outcome {
	each := iter.Iterator[stream.Message]{MaxGoroutines: h.caller.parallel}
	jobs := make([]*job, len(msgs))
	each.ForEachIdx(msgs, func(i int, m *stream.Message) { jobs[i] = h.prepare(*m) })
	wanted := newOrder()
	for _, j := range jobs {
		h.fill(j, wanted)
	}
	h.embed(ctx, wanted)
	out := make([]stream.Outcome, len(msgs))
	each.ForEachIdx(msgs, func(i int, m *stream.Message) { out[i] = h.finish(*m, jobs[i], wanted) })
	return out
}

func (h *handler) prepare(m stream.Message) *job {
	j := &job{}
	if m.IsNull() {
		return j
	}
	if j.change, j.err = decode(m); j.err != nil || j.change.Op == events.OpDelete {
		return j
	}
	if j.change.Document == nil {
		j.err = stream.Permanent(ReasonBadDocument, errors.New("the change has no document"))
		return j
	}
	h.lay(j)
	j.known = known(h.stored, j.change.Ref, h.caller.model)
	h.countCut(&j.change)
	return j
}

// lay makes the places of the vectors of a job's document.
func (h *handler) lay(j *job) {
	j.change.Vectors = &events.Vectors{Model: h.caller.model.Name(), Dimensions: h.caller.model.Dimensions()}
	j.slots = slots(j.change.Document, j.change.Vectors)
}

func (h *handler) countCut(c *events.Change) {
	if len(c.Document.Parameters) > MaxParameters {
		h.metrics.cut.WithLabelValues(cutParameters).Inc()
	}
	if len(c.Document.Examples) > MaxExamples {
		h.metrics.cut.WithLabelValues(cutExamples).Inc()
	}
}

// fill puts the vectors that are known into their places and the other texts
// into wanted.
func (h *handler) fill(j *job, wanted *order) {
	for _, s := range j.slots {
		if s.text == "" {
			continue
		}
		if v, ok := j.known[s.text]; ok {
			*s.vector = v
			h.metrics.hit(hitIndex)
		} else if v, ok := h.memory.get(keyOf(s.text)); ok {
			*s.vector = v
			h.metrics.hit(hitMemory)
		} else if !wanted.add(s.text) {
			h.metrics.hit(hitBatch)
		}
	}
}

func (h *handler) embed(ctx context.Context, wanted *order) {
	wanted.results = h.caller.embed(ctx, wanted.texts)
	for i, r := range wanted.results {
		if r.err == nil {
			h.memory.put(keyOf(wanted.texts[i]), r.vector)
		} else if _, permanent := stream.AsPermanent(r.err); permanent {
			h.metrics.rejected.Inc()
		}
	}
}

// place puts what was embedded into a job's places and notes the first error.
func (j *job) place(wanted *order) {
	for _, s := range j.slots {
		r, ok := wanted.result(s.text)
		if !ok || len(*s.vector) > 0 {
			continue
		}
		*s.vector = r.vector
		if r.err != nil && j.err == nil {
			j.err = r.err
		}
	}
}

// finish returns the change with all its vectors, or the first error among
// them.
func (h *handler) finish(m stream.Message, j *job, wanted *order) stream.Outcome {
	j.place(wanted)
	if j.err != nil {
		return stream.Outcome{Err: j.err}
	}
	if m.IsNull() {
		return stream.Outcome{Out: passOn(m, h.into)}
	}
	next, err := encode(m, &j.change, h.into)
	return stream.Outcome{Out: next, Err: err}
}

// order is a list of distinct texts, and their results once they are there.
type order struct {
	texts   []string
	at      map[string]int
	results []embedded
}

func newOrder() *order { return &order{at: map[string]int{}} }

// add reports whether text was not in the list before.
func (o *order) add(text string) bool {
	if _, ok := o.at[text]; ok {
		return false
	}
	o.at[text] = len(o.texts)
	o.texts = append(o.texts, text)
	return true
}

func (o *order) result(text string) (embedded, bool) {
	i, ok := o.at[text]
	if !ok {
		return embedded{}, false
	}
	return o.results[i], true
}
