package embedding

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/models/modelstore"
	"github.com/toolstream/toolstream/internal/models/onnx"
	"github.com/toolstream/toolstream/internal/models/openai"
	"github.com/toolstream/toolstream/internal/models/static"
	"github.com/toolstream/toolstream/services/query/search"
)

// OpenScorer returns the cross-encoder of the settings, nil if it is off. The caller closes it.
func OpenScorer(ctx context.Context, cfg config.Config) (search.Scorer, io.Closer, error) {
	if name, ok := strings.CutPrefix(cfg.Rerank.Model, config.ONNXPrefix); ok {
		m, err := openONNX(ctx, modelstore.New(cfg.ModelsDir()), name, onnx.OpenCrossEncoder)
		if err != nil {
			return nil, nil, fmt.Errorf("rerank.model %s: %w", cfg.Rerank.Model, err)
		}
		return m, m, nil
	}
	switch cfg.Rerank.Model {
	case config.RerankHTTP:
		r, err := openai.NewReranker(openai.RerankConfig{
			URL: cfg.Rerank.URL, Form: openai.RerankForm(cfg.Rerank.Form), Key: cfg.Rerank.APIKey, Name: cfg.Rerank.Name, Budget: cfg.Rerank.Budget,
		}, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("rerank.url: %w", err)
		}
		return r, io.NopCloser(nil), nil
	}
	return nil, io.NopCloser(nil), nil
}

// OpenNames returns the reader of the names of tools.
func OpenNames() (search.Names, error) {
	m, err := static.Builtin()
	if err != nil {
		return nil, fmt.Errorf("names: %w", err)
	}
	return static.NewNames(m), nil
}
