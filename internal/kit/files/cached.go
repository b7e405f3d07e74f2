// Package freshfile keeps what files hold, as they are now. A change is in force with the
// next use.
package freshfile

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
)

// Files is what some files hold together. Its methods may be called concurrently.
type Files[T any] struct {
	name      string
	meanwhile string // what holds while they cannot be read
	read      func() (T, error)
	log       *slog.Logger

	mu      sync.Mutex
	watched []watched
	held    T     // what was read last
	err     error // why the files as they are now were not read
}

// Holds is what the log says of the time in which files cannot be read, where Current is
// asked for what they hold.
const Holds = "what was read last holds"

// Open reads the files at the paths. Name names them in the log, and meanwhile says there
// what holds while they cannot be read.
func Open[T any](name, meanwhile string, log *slog.Logger, read func() (T, error), paths ...string) (*Files[T], error) {
	f := &Files[T]{name: name, meanwhile: meanwhile, read: read, log: log}
	for _, path := range paths {
		f.watched = append(f.watched, watched{path: path})
	}
	f.changed()
	f.held, f.err = read()
	return f, f.err
}

// Current returns what the files hold. Where they cannot be read any more, it is what was
// read last: who edits them must not stop a server by a slip.
func (f *Files[T]) Current() T {
	held, _ := f.Read()
	return held
}

// Read returns what was read last, and why the files cannot be read as they are now.
func (f *Files[T]) Read() (T, error) {
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

// changed is asked before the files are read: a change in between is seen the next time.
func (f *Files[T]) changed() (any bool) {
	for i := range f.watched {
		any = f.watched[i].changed() || any
	}
	return any
}

// watched tells when a file has changed.
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
