// Package program holds the common parts of toolstream and toolstream-lab: the root command
// with the flags of output, exit codes, usage errors, the version, and the terminal. A command
// prints its data to standard output, in the form of --output, and everything else to standard
// error.
package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/kit/redact"
	"github.com/toolstream/toolstream/pkg/client"
)

// The exit codes.
const (
	Done   = 0
	Failed = 1
	Usage  = 2
	Partly = 3
)

// NewTerminal returns a terminal on the streams, which prints tables.
func NewTerminal(in io.Reader, out, err io.Writer) *Terminal {
	return &Terminal{In: in, Out: out, Err: err, Output: Tabular}
}

// Main runs a program on the arguments and streams of this process, and returns its exit code.
// The first signal ends the context, a second ends the process at once.
func Main(run func(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// NewRoot completes a root command: it prints its help, and has the flags for the output of t.
func NewRoot(root *cobra.Command, t *Terminal) *cobra.Command {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(t.In)
	root.SetOut(t.Out)
	root.SetErr(t.Err)
	var asJSON, version bool
	flags := root.PersistentFlags()
	flags.StringVarP(&t.Output, "output", "o", Tabular, "how to print data: "+strings.Join(Outputs(), ", "))
	flags.BoolVar(&asJSON, "json", false, "short for -o json")
	flags.BoolVar(&t.Quiet, "no-progress", false, "show no progress bar")
	Fixed(root, "output", Outputs()...)
	// Not root.Version: its template would link text/template, which makes the linker keep every
	// exported method.
	root.Flags().BoolVarP(&version, "version", "v", false, "version for "+root.Name())
	root.Args = cobra.NoArgs
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if !version {
			return cmd.Help()
		}
		_, err := fmt.Fprintf(t.Out, "%s %s\n", root.Name(), Version().Version)
		return err
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if asJSON {
			t.Output = JSON
		}
		return KnownWord(cmd, "--output", t.Output, Outputs()...)
	}
	root.SetHelpCommand(&cobra.Command{
		Use: "help [COMMAND]", Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 { // cobra's own help prints the root's here
				return Misused(cmd, "command %q does not exist", strings.Join(args, " "))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	})
	return root
}

// Run executes root with args and returns the exit code. Errors go to standard error, with
// --json as an object.
func Run(ctx context.Context, root *cobra.Command, args []string, t *Terminal) int {
	explainErrors(root)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return Done
	}
	code, help := Failed, ""
	var usage UsageError
	switch {
	case errors.As(err, new(partlyError)):
		code = Partly
	case errors.As(err, &usage):
		code, help = Usage, usage.command+" --help"
	}
	if !t.Structured() {
		t.Notef("%s: %s\n", root.Name(), Harmless(redact.Text(err.Error()))) // it may quote a tool's server
		if help != "" {
			t.Notef("Try: %s\n", help)
		}
		return code
	}
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
	if text, err := json.Marshal(shown); err == nil {
		t.Notef("%s\n", text)
	}
	return code
}

// AddGroup adds commands under a heading of the help.
func AddGroup(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = id
		root.AddCommand(cmd)
	}
}

// Group makes cmd a parent of commands that does nothing itself.
func Group(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args, cmd.RunE = cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
	return cmd
}

// Fixed completes a flag with a fixed list of values.
func Fixed(cmd *cobra.Command, flag string, values ...string) {
	Completed(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// Completed completes a flag with complete.
func Completed(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag does not exist or is completed twice
	}
}

// Build is the version of a binary.
type Build struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// release is set by the linker (-X …/internal/cli/program.release=v1.2.3) if the build cannot
// see the repository, as when it makes an image.
var release = "(devel)"

// Version returns the version of this binary.
func Version() Build {
	b := Build{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && release == "(devel)" {
		b.Version = info.Main.Version
	}
	return b
}

// NewVersion returns the command that prints the version.
func NewVersion(t *Terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := Version()
			return t.Show(v, func() {
				t.PrintName(v.Version)
				t.Printf("%s %s (%s, %s)\n", cmd.Root().Name(), v.Version, v.Go, v.Platform)
			})
		},
	}
}
