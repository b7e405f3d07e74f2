//go:build unix

package flat

import (
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
)

// A page that is gone is an error, not the end of the process.
func TestMappedPageIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := mapFile(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	err = guarded(func() error {
		crc32.Checksum(m.data, castagnoli)
		return nil
	})
	if !errors.Is(err, errCache) {
		t.Errorf("%v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("another panic is kept back")
		}
	}()
	_ = guarded(func() error { panic("something else") })
}
