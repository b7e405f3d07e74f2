//go:build unix

package jetstream

import "syscall"

// diskFree returns the bytes that an ordinary user can still write.
func diskFree(dir string) (free int64, known bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
