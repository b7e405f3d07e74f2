//go:build unix

package files

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Lock locks an open file without waiting, or fails with ErrLocked. Closing the file, or the
// end of the process, releases the lock.
func Lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// LockFolder waits until no other process has locked the folder, and locks it until release is
// called. It protects reading, changing and writing back a file.
func LockFolder(path string) (release func() error, err error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), dir.Close())
	}
	return dir.Close, nil
}
