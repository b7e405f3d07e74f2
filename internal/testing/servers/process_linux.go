package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/toolstream/toolstream/internal/kit/files"
)

// process is a started child. done is closed when it has ended and been waited
// for; then err is its result.
type process struct {
	pid  int
	done chan struct{}
	err  error
	os   *os.Process
}

// attributes make a child die with this process, however that ends, and keep a
// terminal's interrupt from it: this process stops it in order.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// spawn starts argv in dir with env added to this process's, writing to log.
func spawn(argv, env []string, dir string, log *os.File) (*process, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = dir, log, log, attributes()
	p := &process{done: make(chan struct{})}
	err := Child(cmd, func() {
		if p.err = cmd.Wait(); p.err == nil {
			p.err = errors.New("exit status 0")
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // child processes left behind
		close(p.done)
	})
	if err != nil {
		return nil, err
	}
	p.pid, p.os = cmd.Process.Pid, cmd.Process
	return p, nil
}

// stop asks the process to end and forces it when ctx is over.
func (p *process) stop(ctx context.Context) error {
	if err := p.os.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		p.kill()
		return fmt.Errorf("ended by force: %w", ctx.Err())
	}
}

// kill ends the process at once. Killing an ended process has no effect.
func (p *process) kill() {
	_ = p.os.Kill()
	<-p.done
}

// runTool runs a program in a group of its own to its end; a cancelled ctx ends
// the whole group. The error holds the end of its output.
func runTool(ctx context.Context, dir string, env []string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, append(os.Environ(), env...), attributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	runtime.LockOSThread() // see Child
	defer runtime.UnlockOSThread()
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, end(out))
	}
	return nil
}

// lock waits until this process alone holds the file, and returns a function that
// releases it. The file is also released when the process ends for any reason.
func lock(ctx context.Context, path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = poll(ctx, func() (bool, error) {
		err := files.Lock(f)
		if errors.Is(err, files.ErrLocked) {
			return false, nil
		}
		return true, err
	})
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
