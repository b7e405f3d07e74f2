// Command toolstream is the streaming index that finds the right tool for an
// agent among thousands: one binary for the servers and for their clients.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitPartly = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // whoever asks twice does not want to wait
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program: arguments and streams in, exit code out.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	con := newConsole(in, out, errOut)
	root := newRoot(con)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var usage usageError
	var partly partlyError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &partly):
		fmt.Fprintln(errOut, "toolstream:", err)
		return exitPartly
	case errors.As(err, &usage):
		fmt.Fprintln(errOut, "toolstream:", err)
		fmt.Fprintf(errOut, "Try: %s --help\n", usage.command)
		return exitUsage
	default:
		fmt.Fprintln(errOut, "toolstream:", err)
		return exitFailed
	}
}

// usageError is a wrong call.
type usageError struct {
	error
	command string
}

func (e usageError) Unwrap() error { return e.error }

// partlyError says that a part of the work is done and a part is not.
type partlyError struct{ error }

func (e partlyError) Unwrap() error { return e.error }

// unlessNothing makes err one that says that a part is done, if anything is.
func unlessNothing(done int, err error) error {
	if done == 0 {
		return err
	}
	return partlyError{err}
}
