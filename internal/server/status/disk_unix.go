//go:build unix

package status

import "syscall"

// diskOf returns the file system of a folder, nil where the system does not say.
func diskOf(folder string) *Disk {
	var st syscall.Statfs_t
	if err := syscall.Statfs(folder, &st); err != nil {
		return nil
	}
	size := uint64(st.Bsize)
	return &Disk{Free: uint64(st.Bavail) * size, Total: uint64(st.Blocks) * size}
}
