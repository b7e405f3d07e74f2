//go:build !linux

package servers

import (
	"context"
	"fmt"
	"os"
)

var errLinux = fmt.Errorf("%w: servers are started on Linux only", ErrUnavailable)

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
