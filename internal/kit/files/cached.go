package files

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
)

// Cached is the content of some files, read again when they change. Its methods may be called
// concurrently.
type Cached[T any] struct {
	name      string
	meanwhile string // for the log: the content in force while the files cannot be read
	read      func() (T, error)
	log       *slog.Logger

	mu      sync.Mutex
	watched []watched
	held    T     // the content at the last successful read
	err     error // why the files as they are now were not read
}

// KeepsLast is the log's phrase for caches that keep the last content while the files cannot be
// read.
const KeepsLast = "the last content stays in force"

// OpenCached reads the files at the paths. Name is their name in the log, and meanwhile the log's
// words for the content in force while the files cannot be read.
func OpenCached[T any](name, meanwhile string, log *slog.Logger, read func() (T, error), paths ...string) (*Cached[T], error) {
	f := &Cached[T]{name: name, meanwhile: meanwhile, read: read, log: log}
	for _, path := range paths {
		f.watched = append(f.watched, watched{path: path})
	}
	f.changed()
	f.held, f.err = read()
	return f, f.err
}

// Current returns the content of the files, or the last readable content: a slip while editing
// them must not stop a server.
func (f *Cached[T]) Current() T {
	held, _ := f.Read()
	return held
}

// Read returns the last readable content, and an error if the files cannot be read now.
func (f *Cached[T]) Read() (T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := f.changed()
	if unopened := errors.As(f.err, new(*fs.PathError)); !changed && !unopened { // that may end without a change
		return f.held, f.err
	}
	held, err := f.read()
	if f.err = err; err != nil {
		if changed {
			f.log.Error(f.name+" cannot be read: "+f.meanwhile, "error", err)
		}
		return f.held, err
	}
	f.held = held
	f.log.Info(f.name + " has changed and is in force")
	return held, nil
}

// changed is called before the files are read, so that the next call notices a change in between.
func (f *Cached[T]) changed() (any bool) {
	for i := range f.watched {
		any = f.watched[i].changed() || any
	}
	return any
}

// watched notices changes of a file.
type watched struct {
	path   string
	seen   bool
	before fs.FileInfo // nil: the file was not there
}

// changed reports whether the file was changed, replaced, made or removed since the last
// call. The first call returns true.
func (w *watched) changed() bool {
	info, _ := os.Stat(w.path)
	was, seen := w.before, w.seen
	w.before, w.seen = info, true
	switch {
	case !seen:
		return true
	case info == nil || was == nil:
		return (info == nil) != (was == nil)
	}
	return !os.SameFile(info, was) || !info.ModTime().Equal(was.ModTime()) || info.Size() != was.Size() || info.Mode() != was.Mode()
}
