//go:build noonnx || !((linux || darwin || windows) && (amd64 || arm64))

package onnx

import (
	"context"

	"github.com/toolstream/toolstream/internal/models/modelstore"
)

const built = false

func newRuntime(context.Context, modelstore.Entry, modelstore.Entry) (run, error) {
	return nil, errNotBuilt
}
