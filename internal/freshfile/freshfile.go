// Package freshfile keeps what files hold, as they are now. A change is in force with the
// next use.
package freshfile

import (
	"errors"
	"io/fs"
	"log/slog"
	"sync"

	"github.com/toolstream/toolstream/internal/wholefile"
)

// Files is what some files hold together. Its methods may be called concurrently.
type Files[T any] struct {
	name string
	read func() (T, error)
	log  *slog.Logger

	mu      sync.Mutex
	watched []wholefile.Watched
	unread  bool // the last change: the files could not be opened
	held    T
}

// Open reads the files at the paths. Name names them in the log.
func Open[T any](name string, log *slog.Logger, read func() (T, error), paths ...string) (*Files[T], error) {
	f := &Files[T]{name: name, read: read, log: log}
	for _, path := range paths {
		f.watched = append(f.watched, wholefile.Watched{Path: path})
	}
	f.changed()
	var err error
	f.held, err = read()
	return f, err
}

// Current returns what the files hold. Where they cannot be read any more, it is what was
// read last: who edits them must not stop a server by a slip.
func (f *Files[T]) Current() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := f.changed()
	if !changed && !f.unread {
		return f.held
	}
	held, err := f.read()
	f.unread = errors.As(err, new(*fs.PathError)) // which may end without a change of the files
	if err != nil {
		if changed {
			f.log.Error(f.name+" cannot be read: what was read last holds", "error", err)
		}
		return f.held
	}
	f.held = held
	f.log.Info(f.name + " has changed and is in force")
	return f.held
}

// changed is asked before the files are read: a change in between is seen the next time.
func (f *Files[T]) changed() (any bool) {
	for i := range f.watched {
		any = f.watched[i].Changed() || any
	}
	return any
}
