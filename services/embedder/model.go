package embedder

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sourcegraph/conc/pool"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

// caller calls the model with a bounded number of texts, and rejects vectors that would
// damage an index.
type caller struct {
	model    Model
	texts    int
	parallel int
	metrics  *metrics
}

// embedded is the outcome for a text.
type embedded struct {
	vector []float32 // unit length, or empty
	err    error
}

// embed returns one outcome for each text, in order.
func (c *caller) embed(ctx context.Context, texts []string) []embedded {
	out := make([]embedded, len(texts))
	p := pool.New().WithMaxGoroutines(c.parallel)
	at := 0
	for chunk := range slices.Chunk(texts, c.texts) {
		results := out[at : at+len(chunk)]
		at += len(chunk)
		p.Go(func() { c.chunk(ctx, chunk, results) })
	}
	p.Wait()
	return out
}

// chunk embeds texts in one call. If the call can never succeed, chunk tries its halves
// recursively, so that only the culprit fails.
func (c *caller) chunk(ctx context.Context, texts []string, out []embedded) {
	vectors, err := c.call(ctx, texts)
	if _, permanent := stream.AsPermanent(err); permanent && len(texts) > 1 {
		half := len(texts) / 2
		c.chunk(ctx, texts[:half], out[:half])
		c.chunk(ctx, texts[half:], out[half:])
		return
	}
	for i := range out {
		if err != nil {
			out[i].err = err
			continue
		}
		out[i].vector, out[i].err = c.unit(vectors[i])
	}
}

func (c *caller) call(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, span := telemetry.StartSpan(ctx, "embeddings")
	if span.IsRecording() {
		span.SetAttributes(telemetry.Operation.String("embeddings"), telemetry.Model.String(c.model.Name()), telemetry.Texts.Int(len(texts)))
	}
	c.metrics.texts.Add(float64(len(texts)))
	start := time.Now()
	vectors, err := c.model.Embed(ctx, texts)
	telemetry.EndSpan(span, err)
	c.metrics.seconds.Observe(time.Since(start).Seconds())
	if _, permanent := stream.AsPermanent(err); permanent {
		c.metrics.failures.WithLabelValues(classPermanent).Inc()
	} else if err != nil {
		c.metrics.failures.WithLabelValues(classTransient).Inc()
	}
	if err != nil {
		return nil, fmt.Errorf("embed %d texts with %s: %w", len(texts), c.model.Name(), err)
	}
	if len(vectors) != len(texts) {
		return nil, bad("%d vectors for %d texts", len(vectors), len(texts))
	}
	return vectors, nil
}

// unit checks a vector and normalizes it to length 1; an empty vector stays empty.
func (c *caller) unit(v []float32) ([]float32, error) {
	if len(v) == 0 {
		return nil, nil
	}
	if len(v) != c.model.Dimensions() {
		return nil, bad("%d dimensions, %s has %d", len(v), c.model.Name(), c.model.Dimensions())
	}
	var square float64
	for i, x := range v {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, bad("component %d is %v", i, x)
		}
		square += float64(x) * float64(x)
	}
	norm := math.Sqrt(square)
	if norm < 1e-12 {
		return nil, bad("the vector has length %v", norm)
	}
	if math.Abs(norm-1) < 1e-6 {
		return v, nil
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / norm)
	}
	return out, nil
}

func bad(format string, args ...any) error {
	return stream.Permanent(ReasonBadVector, fmt.Errorf(format, args...))
}
