//go:build !unix

package segmentlog

import "os"

// mapping reads the file each time.
type mapping struct {
	path string
	room int
}

func mapFile(f *os.File, size int) (mapping, error) { return mapping{f.Name(), size}, nil }

func (m mapping) size() int { return m.room }

// bytes returns n bytes from an offset on, which were written.
func (m mapping) bytes(at, n int) ([]byte, error) {
	f, err := os.Open(m.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, n)
	_, err = f.ReadAt(b, int64(at))
	return b, err
}
