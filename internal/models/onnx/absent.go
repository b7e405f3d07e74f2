//go:build !onnx

package onnx

import (
	"context"

	"github.com/toolstream/toolstream/internal/models/modelstore"
)

const built = false

func newRuntime(context.Context, modelstore.Entry, modelstore.Entry) (run, error) {
	return nil, errNotBuilt
}
