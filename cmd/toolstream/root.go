package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/client"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/pkg/schema"
)

const defaultServer = "http://127.0.0.1:8665"

// newRoot builds the command tree.
func newRoot(con *console) *cobra.Command {
	root := &cobra.Command{
		Use:   "toolstream",
		Short: "Finds the right tool for an agent among thousands",
		Long: `toolstream is a streaming index of tools: it takes tool documents in any format,
keeps itself up to date, answers searches and learns from what agents do with the
answers.

  toolstream up --import examples/registry/tools   start, with a sample registry
  toolstream search "will it rain tomorrow"        find a tool
  toolstream import openapi.yaml                   add your own`,
		Version:       buildVersion().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("toolstream {{.Version}}\n")
	root.SetIn(con.in)
	root.SetOut(con.out)
	root.SetErr(con.err)
	flags := root.PersistentFlags()
	flags.StringVar(&con.server, "server", envOr("TOOLSTREAM_SERVER", defaultServer), "address of the server (TOOLSTREAM_SERVER)")
	flags.StringVar(&con.token, "token", os.Getenv("TOOLSTREAM_TOKEN"), "credential, where the server asks for one (TOOLSTREAM_TOKEN)")
	flags.BoolVar(&con.json, "json", false, "print JSON instead of a table")
	flags.BoolVar(&con.quiet, "no-progress", false, "show no progress bar")
	flags.Lookup("token").DefValue = ""
	root.AddCommand(
		newUp(con), newServe(con), newImport(con), newSearch(con), newFeedback(con),
		newTools(con), newAgents(con), newWeights(con), newDLQ(con),
		newEval(con), newTrain(con), newSimulate(con), newTune(con), newDistill(con), newBench(con), newModels(con), newTopics(con), newReindex(con), newStatus(con), newDoctor(con),
		newConfig(con), newVersion(con),
	)
	root.SetHelpCommand(newHelp())
	explainUsage(root)
	return root
}

// newHelp is cobra's command, but for what is no command.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return misused(cmd, "there is no command %q", strings.Join(args, " "))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// explainUsage turns every wrong call into a usageError that names the command
// whose help tells more.
func explainUsage(cmd *cobra.Command) {
	path := cmd.CommandPath
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usageError{err, c.CommandPath()} })
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			switch {
			case err == nil:
				return nil
			case c.HasSubCommands() && len(args) > 0:
				return usageError{errors.Join(append([]error{err}, similar(c, args[0])...)...), path()}
			}
			return usageError{fmt.Errorf("%w: %s", err, c.UseLine()), path()}
		}
	}
	for _, sub := range cmd.Commands() {
		explainUsage(sub)
	}
}

// similar names the subcommands that a mistyped one may have meant.
func similar(cmd *cobra.Command, typed string) []error {
	cmd.SuggestionsMinimumDistance = 2
	var found []error
	for _, name := range cmd.SuggestionsFor(typed) {
		found = append(found, fmt.Errorf("did you mean %q?", cmd.CommandPath()+" "+name))
	}
	return found
}

// misused returns a usageError for a check that cobra can not make.
func misused(cmd *cobra.Command, format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...), cmd.CommandPath()}
}

// inUse makes a usageError of what only the use of a setting shows to be wrong.
func inUse(cmd *cobra.Command, err error) error {
	if errors.As(err, new(config.Wrong)) {
		return usageError{err, cmd.CommandPath()}
	}
	return err
}

// refused is misused for a value that the server would refuse. It is called as the command
// calls it.
func refused(cmd *cobra.Command, err error) error {
	var invalid *schema.Invalid
	if !errors.As(err, &invalid) {
		return misused(cmd, "%v", err)
	}
	name := strings.TrimPrefix(invalid.Path, "/")
	switch {
	case cmd.Flags().Lookup(name) != nil:
		name = "--" + name
	case strings.Contains(cmd.Use, strings.ToUpper(name)):
		name = strings.ToUpper(name)
	}
	if invalid.Value == "" {
		return misused(cmd, "%s: %s", name, invalid.Reason)
	}
	return misused(cmd, "%s is %s: %s", name, invalid.Value, invalid.Reason)
}

// knownWord refuses a word that is not one of some.
func knownWord(cmd *cobra.Command, what, word string, words ...string) error {
	if slices.Contains(words, word) {
		return nil
	}
	return misused(cmd, "%s is %q; it is one of %s", what, word, strings.Join(words, ", "))
}

func (c *console) client() *client.Client {
	return &client.Client{Server: c.server, Token: c.token, HTTP: http.DefaultClient}
}

func envOr(name, fallback string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return fallback
}
