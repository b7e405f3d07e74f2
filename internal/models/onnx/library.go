//go:build !noonnx && (linux || darwin) && (amd64 || arm64)

package onnx

import "github.com/ebitengine/purego"

// symbol loads a library and returns the address of a function of it.
func symbol(path, name string) (uintptr, error) {
	library, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return 0, err
	}
	return purego.Dlsym(library, name)
}
