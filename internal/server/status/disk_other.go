//go:build !unix

package status

// diskOf returns nil: the system does not report disk usage.
func diskOf(string) *Disk { return nil }
