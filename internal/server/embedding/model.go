// Package embedding opens the models of the settings: the embedding model and the cross-encoder.
package embedding

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/models/modelstore"
	"github.com/toolstream/toolstream/internal/models/onnx"
	"github.com/toolstream/toolstream/internal/models/openai"
	"github.com/toolstream/toolstream/internal/models/static"
	"github.com/toolstream/toolstream/services/embedder"
)

// learnTimeout bounds the wait for an endpoint to tell its dimensions.
const learnTimeout = 15 * time.Second

// Open returns the embedding model that the settings choose. The caller closes it.
func Open(ctx context.Context, cfg config.Config) (embedder.Model, io.Closer, error) {
	if name, ok := strings.CutPrefix(cfg.Embedder.Model, config.ONNXPrefix); ok {
		m, err := openONNX(ctx, modelstore.New(cfg.ModelsDir()), name, onnx.Open)
		if err != nil {
			return nil, nil, fmt.Errorf("embedder.model %s%s: %w", config.ONNXPrefix, name, err)
		}
		return m, m, nil
	}
	if path, ok := strings.CutPrefix(cfg.Embedder.Model, config.StaticPrefix); ok {
		return inProgram(static.Open(cfg.StaticFile(path)))
	}
	switch cfg.Embedder.Model {
	case config.StaticModel:
		return inProgram(static.Builtin())
	case HTTP:
		return newEndpoint(ctx, cfg.Embedder)
	}
	return nil, nil, fmt.Errorf("embedder.model: no model is called %q", cfg.Embedder.Model)
}

// inProgram returns a model that has nothing to close.
func inProgram(m *static.Model, err error) (embedder.Model, io.Closer, error) {
	if err != nil {
		return nil, nil, fmt.Errorf("embedder.model: %w", err)
	}
	return m, io.NopCloser(nil), nil
}

func newEndpoint(ctx context.Context, c config.Embedder) (embedder.Model, io.Closer, error) {
	m, err := openai.New(openai.Config{
		URL: c.URL, Key: c.APIKey, Name: c.Name, Dimensions: c.Dimensions,
		DocumentPrefix: c.DocumentPrefix, QueryPrefix: c.QueryPrefix,
		Batch: c.Batch, Parallel: c.Parallel, Timeout: c.Timeout,
	}, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("embedder.url: %w", err)
	}
	if c.Dimensions > 0 {
		return m, m, nil
	}
	ctx, cancel := context.WithTimeout(ctx, learnTimeout)
	defer cancel()
	if err := m.Learn(ctx); err != nil {
		return nil, nil, fmt.Errorf("ask the embedding endpoint for the length of its vectors (set embedder.dimensions to start without it): %w", err)
	}
	return m, m, nil
}

// HTTP is embedder.model for a model behind an endpoint. Setting appends the model's name at the
// endpoint, which distinguishes two such models.
const (
	HTTP       = "http"
	httpPrefix = HTTP + ":"
)

// Setting identifies the model that is configured.
func Setting(c config.Embedder) string {
	if c.Model == HTTP {
		return httpPrefix + c.Name
	}
	return c.Model
}

// With returns the settings with another model. Dimensions may be 0.
func With(cfg config.Config, setting string, dimensions int) (config.Config, error) {
	if setting == HTTP {
		setting = httpPrefix + cfg.Embedder.Name
	}
	name, behind := strings.CutPrefix(setting, httpPrefix)
	cfg.Embedder.Model = setting
	if behind {
		if name != cfg.Embedder.Name {
			cfg.Embedder.Dimensions = 0
		}
		cfg.Embedder.Model, cfg.Embedder.Name = HTTP, name
	}
	if cfg.Embedder.Dimensions == 0 {
		cfg.Embedder.Dimensions = dimensions // a restart needs nothing from an endpoint
	}
	return cfg, cfg.Validate()
}
