package servers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// ownerFile is locked in a temporary folder as long as its owner lives.
const ownerFile = "owner.lock"

// folder is the data folder of a server. release ends its use and removes a
// temporary folder.
type folder struct {
	path    string
	release func() error
}

// open takes dir, or a temporary folder of the server called name.
func open(ctx context.Context, name, dir string) (folder, error) {
	if dir == "" {
		return temporary(ctx, name)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return folder{}, err
	}
	return folder{path: dir, release: func() error { return nil }}, os.MkdirAll(dir, 0o700)
}

// temporary makes a folder after removing folders whose owner died without removing
// them. One process at a time does so, or it could remove a folder that another
// process has made but not yet locked.
func temporary(ctx context.Context, name string) (folder, error) {
	root, err := cache()
	if err != nil {
		return folder{}, err
	}
	done, err := lock(ctx, filepath.Join(root, "folders.lock"))
	if err != nil {
		return folder{}, err
	}
	defer done()
	pattern := "toolstream-" + name + "-"
	if err := sweep(filepath.Join(os.TempDir(), pattern+"*")); err != nil {
		return folder{}, err
	}
	dir, err := os.MkdirTemp("", pattern)
	if err != nil {
		return folder{}, err
	}
	unlock, err := lock(ctx, filepath.Join(dir, ownerFile))
	if err != nil {
		return folder{}, errors.Join(err, os.RemoveAll(dir))
	}
	return folder{path: dir, release: func() error {
		defer unlock()
		return os.RemoveAll(dir)
	}}, nil
}

// sweep removes the folders that no process holds. It cannot open the folders of
// another user, so they stay.
func sweep(pattern string) error {
	dirs, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	now, cancel := context.WithCancel(context.Background())
	cancel() // do not wait for a held lock
	for _, dir := range dirs {
		path := filepath.Join(dir, ownerFile)
		if !exists(path) {
			continue
		}
		unlock, err := lock(now, path)
		if err != nil {
			continue
		}
		err = os.RemoveAll(dir)
		unlock()
		if err != nil {
			return err
		}
	}
	return nil
}
