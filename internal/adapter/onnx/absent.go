//go:build !onnx

package onnx

const built = false

func newRuntime(Config) (run, error) { return nil, errNotBuilt }
