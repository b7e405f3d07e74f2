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
