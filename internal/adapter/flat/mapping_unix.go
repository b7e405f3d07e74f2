//go:build unix

package flat

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapped returns a file's bytes and what lets go of them.
func mapped(f *os.File, size int) ([]byte, func([]byte), error) {
	if size == 0 {
		return nil, func([]byte) {}, nil
	}
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	_ = unix.Madvise(data, unix.MADV_WILLNEED) // it only makes it faster
	return data, func(data []byte) { _ = unix.Munmap(data) }, nil
}
