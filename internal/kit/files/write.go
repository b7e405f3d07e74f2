// Package files writes files in one step, locks them, and caches their content until they
// change.
package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Write replaces the content and permissions of the file at path durably: they survive a power
// failure. It creates a missing folder, for its owner alone. After an error the file is
// unchanged; if only syncing the folder failed, it has the new content.
func Write(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes the names in a folder durable, if the system supports that.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Remove removes the file at path durably.
func Remove(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}
