//go:build !unix

package jetstream

// diskFree is not known here.
func diskFree(string) (free int64, known bool) { return 0, false }
