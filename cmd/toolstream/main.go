// Command toolstream is the streaming index that finds the right tool for an
// agent among thousands: one binary for the servers and for their clients.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/toolstream/toolstream/internal/redact"
	"github.com/toolstream/toolstream/pkg/client"
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
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
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
	if err == nil {
		return exitDone
	}
	code, help := exitFailed, ""
	var usage usageError
	switch {
	case errors.As(err, new(partlyError)):
		code = exitPartly
	case errors.As(err, &usage):
		code, help = exitUsage, usage.command+" --help"
	}
	if con.structured() {
		con.printError(err, code, help)
		return code
	}
	fmt.Fprintln(errOut, "toolstream:", harmless(redact.Text(err.Error()))) // which may hold what a tool's server said
	if help != "" {
		fmt.Fprintln(errOut, "Try:", help)
	}
	return code
}

// printError writes an error as a line of JSON, to err as every error.
func (c *console) printError(err error, code int, help string) {
	shown := struct {
		Error  string `json:"error"`
		Code   int    `json:"exit_code"`
		Status int    `json:"http_status,omitempty"`
		Help   string `json:"help,omitempty"`
	}{Error: redact.Text(err.Error()), Code: code, Help: help}
	var problem *client.Problem
	if errors.As(err, &problem) {
		shown.Error, shown.Status = problem.Text(), problem.Status
	}
	text, err := json.Marshal(shown)
	if err == nil {
		c.notef("%s\n", text)
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
