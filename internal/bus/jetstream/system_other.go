//go:build !unix

package jetstream

// diskSpace is not known here.
func diskSpace(string) (free, total int64, known bool) { return 0, 0, false }
