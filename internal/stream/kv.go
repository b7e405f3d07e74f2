package stream

import "errors"

// ErrNotFound is the error for a key that a bucket of small values does not
// hold.
var ErrNotFound = errors.New("key not found")

// ErrConflict is the error for a write that came second.
var ErrConflict = errors.New("key was changed by another writer")

// Entry is one version of a small value that is distributed to all who watch
// it: weights, settings.
type Entry struct {
	Key      string
	Value    []byte // nil where the key was deleted
	Revision uint64 // rises with each write to the bucket
}
