//go:build !onnx

package onnx

import (
	"context"

	"github.com/toolstream/toolstream/internal/models"
)

const built = false

func newRuntime(context.Context, models.Entry, models.Entry) (run, error) { return nil, errNotBuilt }
