//go:build unix

package filelock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Take locks an open file without waiting, or fails with ErrHeld. Closing the file,
// or the end of the process however it comes, lets it go.
func Take(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrHeld
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// Folder waits until no other process has the folder, and keeps others from it until release
// is called: for those who read a file, change it and write it back.
func Folder(path string) (release func() error, err error) {
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
