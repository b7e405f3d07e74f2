//go:build !unix

package flat

import (
	"io"
	"os"
)

// mapped returns a file's bytes, read, and what lets go of them.
func mapped(f *os.File, size int) ([]byte, func([]byte), error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, nil, err
	}
	return data, func([]byte) {}, nil
}
