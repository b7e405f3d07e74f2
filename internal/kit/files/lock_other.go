//go:build !unix

package files

import "os"

// Lock does nothing. These systems refuse to delete or replace open files, but do
// not keep a second process out: running two is the operator's mistake to avoid.
func Lock(*os.File) error { return nil }

// LockFolder does nothing, as Lock.
func LockFolder(string) (release func() error, err error) { return func() error { return nil }, nil }
