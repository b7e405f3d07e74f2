package app

import (
	"fmt"

	"github.com/toolstream/toolstream/internal/adapter/openai"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/services/query"
)

// newCrossEncoder returns the cross-encoder of the settings; nil where there is none.
func newCrossEncoder(cfg config.Rerank) (query.Scorer, error) {
	if cfg.URL == "" {
		return nil, nil
	}
	r, err := openai.NewReranker(openai.RerankConfig{
		URL: cfg.URL, Form: openai.RerankForm(cfg.Form), Key: cfg.APIKey, Name: cfg.Model, Patience: cfg.Budget,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("rerank.url: %w", err)
	}
	return r, nil
}
