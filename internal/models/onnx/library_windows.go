//go:build !noonnx && (amd64 || arm64)

package onnx

import "golang.org/x/sys/windows"

// symbol loads a library and returns the address of a function of it.
func symbol(path, name string) (uintptr, error) {
	library, err := windows.LoadLibrary(path)
	if err != nil {
		return 0, err
	}
	return windows.GetProcAddress(library, name)
}
