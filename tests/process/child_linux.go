package process

import (
	"os/exec"
	"runtime"
	"syscall"
)

// spawn starts the command and lets follow read what it says and wait for it.
// The process dies with this one, however that ends: the system sends the signal
// when the thread that started the child ends, so that thread stays with follow.
func spawn(cmd *exec.Cmd, follow func()) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			follow()
		}
	}()
	return <-started
}
