//go:build !unix

package filelock

import "os"

// Take does nothing. These systems refuse to delete or replace open files, but do
// not keep a second process out: running two is the operator's mistake to avoid.
func Take(*os.File) error { return nil }

// Folder does nothing, as Take.
func Folder(string) (release func() error, err error) { return func() error { return nil }, nil }
