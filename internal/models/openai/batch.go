package openai

import (
	"context"
	"strings"
	"time"

	"github.com/sourcegraph/conc/pool"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/text"
)

// The reasons of permanent errors.
const (
	reasonVector  = "bad_vector"   // the answer holds no usable vector for the text
	reasonRefused = "text_refused" // the endpoint will not embed the text
)

// keepBytes is the shortest length that a refused text is cut to. A shorter text
// is not refused for its length.
const keepBytes = 512

// embed sends the texts in batches, at once as far as the class allows. The
// first error ends the others.
func (m *Model) embed(ctx context.Context, c *class, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	group := pool.New().WithMaxGoroutines(m.cfg.Parallel).WithContext(ctx).WithCancelOnError().WithFirstError()
	for _, batch := range m.batches(c, texts) {
		group.Go(func(ctx context.Context) error { return m.batch(ctx, c, batch, out) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

// sent is a text as it is sent, and its index among the given texts.
type sent struct {
	text string
	at   int
}

// batches cuts the texts into requests of bounded number and size, and omits texts
// of white space.
func (m *Model) batches(c *class, texts []string) [][]sent {
	var out [][]sent
	var batch []sent
	size, most := 0, int(m.batchSize.Load())
	for i, s := range texts {
		if strings.TrimSpace(s) == "" {
			continue
		}
		s = c.prefix + s
		if len(batch) == most || len(batch) > 0 && size+len(s) > m.cfg.Bytes {
			out, batch, size = append(out, batch), nil, 0
		}
		batch, size = append(batch, sent{s, i}), size+len(s)
	}
	if len(batch) > 0 {
		out = append(out, batch)
	}
	return out
}

// batch writes the vectors of a batch to out. A batch that is refused or takes too
// long is halved: it may be too large, or one of its texts at fault.
func (m *Model) batch(ctx context.Context, c *class, batch []sent, out [][]float32) error {
	texts := make([]string, len(batch))
	for i, s := range batch {
		texts[i] = s.text
	}
	begin := time.Now()
	vectors, err := m.retried(ctx, c, texts)
	switch {
	case err == nil:
		for i, s := range batch {
			out[s.at] = vectors[i]
		}
		if n := int64(len(batch)); n < int64(m.cfg.Batch) {
			m.batchSize.CompareAndSwap(n, n+1) // it was cut down, and this one was in time
		}
		return nil
	case isSlow(err) && len(batch) > 1:
		m.batchSize.Store(int64(len(batch) / 2))
		if time.Since(begin) >= c.retryBudget {
			return err // the next try sends fewer at a time
		}
	case !isKind(err, refused):
		return err
	case len(batch) == 1:
		out[batch[0].at], err = m.shortened(ctx, c, texts[0], err)
		return err
	}
	half := len(batch) / 2
	first := m.batch(ctx, c, batch[:half], out)
	if _, permanent := stream.AsPermanent(first); first != nil && !permanent {
		return first
	}
	if err := m.batch(ctx, c, batch[half:], out); err != nil {
		return err
	}
	return first
}

// shortened embeds the beginning of a text that was refused with err: models refuse
// texts beyond their context, each with an error of its own, and a tool is better
// found by its beginning than not at all.
func (m *Model) shortened(ctx context.Context, c *class, s string, err error) ([]float32, error) {
	for n := len(s) / 2; n >= keepBytes && isKind(err, refused); n /= 2 {
		var vectors [][]float32
		if vectors, err = m.retried(ctx, c, []string{text.Truncate(s, n)}); err == nil {
			return vectors[0], nil
		}
	}
	if p, ok := asProblem(err); ok && p.kind == refused {
		return nil, stream.Permanent(p.reason, err)
	}
	return nil, err
}
