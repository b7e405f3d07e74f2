//go:build !unix

package jetstream

import "os"

// lock opens the file. These systems refuse to delete or replace open files,
// but do not keep a second process out: running two on one folder is the
// operator's mistake to avoid.
func lock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}

// diskFree is not known here.
func diskFree(string) (free int64, known bool) { return 0, false }
