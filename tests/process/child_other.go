//go:build !linux

package process

import "os/exec"

// spawn starts the command and lets follow read what it says and wait for it.
func spawn(cmd *exec.Cmd, follow func()) error {
	err := cmd.Start()
	if err == nil {
		go follow()
	}
	return err
}
