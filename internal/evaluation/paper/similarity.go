package paper

import (
	"context"
	"fmt"

	"github.com/toolstream/toolstream/internal/evaluation/bm25"
	"github.com/toolstream/toolstream/internal/vector"
)

// similarity returns for each question the score of every text of a column.
type similarity func(ctx context.Context, questions []string) ([][]float64, error)

func newSimilarity(ctx context.Context, texts []string, model Model) (similarity, error) {
	if model != nil {
		return dense(ctx, texts, model)
	}
	corpus := bm25.New(texts)
	return func(_ context.Context, questions []string) ([][]float64, error) {
		scores := make([][]float64, len(questions))
		for i, q := range questions {
			scores[i] = corpus.Scores(q)
		}
		return scores, nil
	}, nil
}

// portion is how many texts are embedded in one call: what fits every model's
// request.
const portion = 64

func dense(ctx context.Context, texts []string, model Model) (similarity, error) {
	documents, err := embed(ctx, texts, model)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, questions []string) ([][]float64, error) {
		vectors, err := embed(ctx, questions, model)
		if err != nil {
			return nil, err
		}
		scores := make([][]float64, len(questions))
		for i, q := range vectors {
			scores[i] = make([]float64, len(documents))
			for j, d := range documents {
				if len(q) == len(d) {
					scores[i][j] = float64(vector.Dot(q, d))
				}
			}
		}
		return scores, nil
	}, nil
}

func embed(ctx context.Context, texts []string, model Model) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for start := 0; start < len(texts); start += portion {
		part := texts[start:min(start+portion, len(texts))]
		got, err := model.Embed(ctx, part)
		if err != nil {
			return nil, fmt.Errorf("embed: %w", err)
		}
		if len(got) != len(part) {
			return nil, fmt.Errorf("embed: %d vectors for %d texts", len(got), len(part))
		}
		vectors = append(vectors, got...)
	}
	return vectors, nil
}
