package embedding

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

// newONNX opens the embedding model of that name in the store.
func newONNX(ctx context.Context, store *models.Store, name string) (embedder.Model, io.Closer, error) {
	m, err := openONNX(ctx, store, name, onnx.Open)
	if err != nil {
		return nil, nil, fmt.Errorf("embedder.model %s%s: %w", config.ONNXPrefix, name, err)
	}
	return m, m, nil
}

// openONNX opens the model of that name in the store, in one of the forms of package onnx.
func openONNX[M any](ctx context.Context, store *models.Store, name string, open func(ctx context.Context, runtime, model models.Entry) (M, error)) (m M, err error) {
	if err := onnx.Supported(); err != nil { // before files are looked for
		return m, err
	}
	model, err := entry(store, name, models.Model)
	if err != nil {
		return m, err
	}
	runtime, err := entry(store, models.RuntimeName, models.Runtime)
	if err != nil {
		return m, err
	}
	return open(ctx, runtime, model)
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
