//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a command into a process group of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the remaining processes of a command's group.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the group may be empty
}
