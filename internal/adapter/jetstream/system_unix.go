//go:build unix

package jetstream

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock takes the file for this process; closing it, or the end of the process
// however it comes, lets it go.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.New("another process has it open")
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// diskFree returns the bytes that an ordinary user can still write.
func diskFree(dir string) (free int64, known bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
