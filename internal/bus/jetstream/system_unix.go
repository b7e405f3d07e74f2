//go:build unix

package jetstream

import "syscall"

// diskSpace returns the bytes that an ordinary user can still write, and the size of the file
// system.
func diskSpace(dir string) (free, total int64, known bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize), true
}
