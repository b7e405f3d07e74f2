//go:build !linux

package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

var errLinux = fmt.Errorf("%w: servers are started on Linux only", ErrUnavailable)

// Child starts the command and calls follow, which waits for it.
func Child(cmd *exec.Cmd, follow func()) error {
	err := cmd.Start()
	if err == nil {
		go follow()
	}
	return err
}

// process is never started here: only Linux ends a child with its parent.
type process struct {
	pid  int
	done chan struct{}
	err  error
}

func spawn(_, _ []string, _ string, _ *os.File) (*process, error) { return nil, errLinux }

func (*process) stop(context.Context) error { return nil }

func (*process) kill() {}

func runTool(context.Context, string, []string, ...string) error { return errLinux }

func lock(context.Context, string) (func(), error) { return nil, errLinux }
