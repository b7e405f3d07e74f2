//go:build unix

package segmentlog

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// mapping is a file as memory. It ends when nothing refers to it any more.
type mapping struct{ data *[]byte }

// mapFile maps the first bytes of a file, more of them than it may have yet.
func mapFile(f *os.File, size int) (mapping, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return mapping{}, fmt.Errorf("map %s: %w", f.Name(), err)
	}
	m := mapping{&data}
	runtime.AddCleanup(m.data, func(data []byte) { _ = unix.Munmap(data) }, data)
	return m, nil
}

func (m mapping) size() int { return len(*m.data) }

// bytes returns n bytes from an offset on, which were written.
func (m mapping) bytes(at, n int) ([]byte, error) { return (*m.data)[at : at+n : at+n], nil }
