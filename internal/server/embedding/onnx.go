package embedding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/models/modelstore"
	"github.com/toolstream/toolstream/internal/models/onnx"
)

// openONNX opens the model of a name in the store.
func openONNX[M any](ctx context.Context, store *modelstore.Store, name string, open func(ctx context.Context, runtime, model modelstore.Entry) (M, error)) (m M, err error) {
	if err := onnx.Supported(); err != nil { // before files are looked for
		return m, err
	}
	model, err := entry(store, name, modelstore.Model)
	if err != nil {
		return m, err
	}
	runtime, err := entry(store, modelstore.RuntimeName, modelstore.Runtime)
	if err != nil {
		return m, err
	}
	return open(ctx, runtime, model)
}

// entry returns an entry of the store. The error for a missing entry says how to add it.
func entry(store *modelstore.Store, name string, kind modelstore.Kind) (modelstore.Entry, error) {
	e, err := store.Get(name)
	if errors.Is(err, modelstore.ErrNotThere) {
		from := ""
		if !slices.Contains(modelstore.Known(), name) {
			from = " --from FOLDER"
		}
		return e, fmt.Errorf("%w; add it with `toolstream models add %s%s` (known by name: %s)", err, name, from, strings.Join(modelstore.Known(), ", "))
	}
	if err == nil && e.Kind != kind {
		err = fmt.Errorf("%s is a %s, not a %s", name, e.Kind, kind)
	}
	return e, err
}
