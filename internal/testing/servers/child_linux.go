package servers

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Child starts the command and calls follow, which waits for it. The process dies
// with this one, however that ends: the system sends the signal when the thread
// that started the child ends, so that thread stays with follow.
func Child(cmd *exec.Cmd, follow func()) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
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
