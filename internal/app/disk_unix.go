//go:build unix

package app

import "syscall"

// diskOf is the file system of a folder, nil where it can not be told.
func diskOf(folder string) *Disk {
	var st syscall.Statfs_t
	if err := syscall.Statfs(folder, &st); err != nil {
		return nil
	}
	size := uint64(st.Bsize)
	return &Disk{Free: uint64(st.Bavail) * size, Total: uint64(st.Blocks) * size}
}
