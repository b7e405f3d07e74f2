package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/toolstream/toolstream/internal/adapter/onnx"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/models"
	"github.com/toolstream/toolstream/services/embedder"
)

// newONNX opens the model of that name in the store.
func newONNX(ctx context.Context, store *models.Store, name string) (embedder.Model, io.Closer, error) {
	m, err := openONNX(ctx, store, name)
	if err != nil {
		return nil, nil, fmt.Errorf("embedder.model %s%s: %w", config.ONNXPrefix, name, err)
	}
	return m, m, nil
}

func openONNX(ctx context.Context, store *models.Store, name string) (*onnx.Model, error) {
	if err := onnx.Supported(); err != nil {
		return nil, err // before anybody looks for files
	}
	cfg, err := onnxConfig(store, name)
	if err != nil {
		return nil, err
	}
	return onnx.Open(ctx, cfg)
}

// onnxConfig brings a model and the runtime together.
func onnxConfig(store *models.Store, name string) (onnx.Config, error) {
	model, err := entry(store, name, models.Model)
	if err != nil {
		return onnx.Config{}, err
	}
	runtime, err := entry(store, models.RuntimeName, models.Runtime)
	if err != nil {
		return onnx.Config{}, err
	}
	library, _ := runtime.Library()
	weights, _ := model.Weights()
	tokenizer, _ := model.Tokenizer()
	d := model.Model
	return onnx.Config{
		Name:           name,
		Library:        onnxFile(runtime, library),
		Model:          onnxFile(model, weights),
		Tokenizer:      onnxFile(model, tokenizer),
		KeepCase:       d.KeepCase,
		Pooling:        onnx.Pooling(d.Pooling),
		Precision:      onnx.Precision(d.Precision),
		Dimensions:     d.Dimensions,
		MaxTokens:      d.MaxTokens,
		DocumentPrefix: d.Prefixes.Document,
		QueryPrefix:    d.Prefixes.Query,
	}, nil
}

func onnxFile(e models.Entry, f models.File) onnx.File {
	return onnx.File{Path: e.Path(f), SHA256: f.SHA256}
}

// entry returns what the store has under a name, or says how to get it.
func entry(store *models.Store, name string, kind models.Kind) (models.Entry, error) {
	e, err := store.Get(name)
	if errors.Is(err, models.ErrNotThere) {
		return e, fmt.Errorf("%w; add it with `toolstream models add %s --from FOLDER, FILE or URL` (known by name: %s)", err, name, strings.Join(models.Known(), ", "))
	}
	if err == nil && e.Kind != kind {
		err = fmt.Errorf("%s is a %s, not a %s", name, e.Kind, kind)
	}
	return e, err
}
