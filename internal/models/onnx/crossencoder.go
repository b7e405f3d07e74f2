package onnx

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/toolstream/toolstream/internal/models/modelstore"
)

// CrossEncoder is an open model that reads a query and a text together. It may be used
// concurrently.
type CrossEncoder struct{ model *Model }

// OpenCrossEncoder is Open for a cross-encoder: a model with one number for each row,
// which its description has as pooling none and one dimension.
func OpenCrossEncoder(ctx context.Context, runtime, model modelstore.Entry) (*CrossEncoder, error) {
	if d := model.Model; d.Pooling != modelstore.None || d.Dimensions != 1 {
		return nil, fmt.Errorf("%s is not a cross-encoder: the model.json of a cross-encoder says pooling %q and 1 dimension, its own says %q and %d",
			model.Name, modelstore.None, d.Pooling, d.Dimensions)
	}
	m, err := load(ctx, runtime, model)
	if err != nil {
		return nil, err
	}
	c := &CrossEncoder{m}
	if _, err := c.Score(ctx, "the right tool", []string{"Finds the right tool."}); err != nil {
		return nil, errors.Join(fmt.Errorf("score a first text: %w", err), m.run.close())
	}
	return c, nil
}

// Close frees the model once no call is under way; later calls fail.
func (c *CrossEncoder) Close() error { return c.model.Close() }

// Score returns for each text, in order, how relevant it is to the query, from 0 to 1:
// the logistic function of the model's number. The end of ctx stops the run.
func (c *CrossEncoder) Score(ctx context.Context, query string, texts []string) ([]float64, error) {
	scores := make([]float64, len(texts))
	err := c.model.runAll(ctx, c.model.encodePairs(query, texts), func(logits []float32, b batch, rows []int) error {
		if len(logits) != b.rows {
			return fmt.Errorf("the model has %d numbers for %d texts", len(logits), b.rows)
		}
		for i, x := range logits {
			scores[rows[i]] = 1 / (1 + math.Exp(-float64(x)))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return scores, nil
}

// encodePairs returns the query with each text behind it: [CLS] query [SEP] text [SEP].
// A long query leaves half of the tokens to the texts.
func (m *Model) encodePairs(query string, texts []string) encoded {
	most := m.description.MaxTokens
	first := m.tokenizer.Append(nil, m.description.Prefixes.Query+query, most/2+1)
	e := encoded{ends: make([]int, len(texts)), query: len(first)}
	for i, text := range texts {
		// Its own first mark is overwritten by the last of the query's.
		e.ids = append(e.ids, first[:len(first)-1]...)
		at := len(e.ids)
		e.ids = m.tokenizer.Append(e.ids, m.description.Prefixes.Document+text, most-len(first)+1)
		e.ids[at] = first[len(first)-1]
		e.ends[i] = len(e.ids)
	}
	return e
}
