//go:build unix

package status

import "syscall"

// diskOf returns the file system of a folder, or nil if the system does not report it.
func diskOf(folder string) *Disk {
	var st syscall.Statfs_t
	if err := syscall.Statfs(folder, &st); err != nil {
		return nil
	}
	size := uint64(st.Bsize)
	return &Disk{Free: uint64(st.Bavail) * size, Total: uint64(st.Blocks) * size}
}
