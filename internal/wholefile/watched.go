package wholefile

import (
	"io/fs"
	"os"
)

// Watched tells when a file has changed. It looks at the file when it is asked, so that a
// change counts with the next use of the file, without a clock or a notification. It is for
// one goroutine.
type Watched struct {
	Path string

	seen   bool
	before fs.FileInfo // nil: the file was not there
}

// Changed reports whether the file was changed, replaced, made or removed since the last call.
// The first call returns true.
func (w *Watched) Changed() bool {
	info, _ := os.Stat(w.Path)
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
