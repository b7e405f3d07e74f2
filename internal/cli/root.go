package cli

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
)

// console is the terminal and the server of a command.
type console struct {
	*program.Terminal
	connection
}

// Run is the program toolstream: arguments and streams in, exit code out.
func Run(ctx context.Context, args []string, in io.Reader, out, err io.Writer) int {
	t := program.NewTerminal(in, out, err)
	return program.Run(ctx, NewRoot(t), args, t)
}

// NewRoot returns the command toolstream, with all others below it.
func NewRoot(t *program.Terminal) *cobra.Command {
	con := &console{Terminal: t}
	root := program.NewRoot(&cobra.Command{
		Use:   "toolstream",
		Short: "Finds the right tool for an agent among thousands",
		Long: `toolstream is a streaming index of tools: it takes tool documents in any format,
keeps itself up to date, answers searches and learns from what agents do with the
answers.

  toolstream up --import examples/registry/tools   start, with a sample registry
  toolstream search "will it rain tomorrow"        find a tool
  toolstream import openapi.yaml                   add your own`,
	}, t)
	flags := root.PersistentFlags()
	flags.StringVar(&con.Server, "server", "", "address of the server (TOOLSTREAM_SERVER, or the context in use; default "+defaultServer+")")
	flags.StringVar(&con.Token, "token", "", "credential, where the server asks for one (TOOLSTREAM_TOKEN, or the context in use)")
	flags.StringVar(&con.CAFile, "ca-file", "", "`FILE` of certificates that an https server's is checked by (TOOLSTREAM_CA_FILE, or the context in use; default the system's)")
	flags.StringVar(&con.CertFile, "cert-file", "", "`FILE` of a client certificate, in place of a token (TOOLSTREAM_CERT_FILE, or the context in use)")
	flags.StringVar(&con.KeyFile, "key-file", "", "`FILE` of its key (TOOLSTREAM_KEY_FILE, or the context in use)")
	flags.StringVar(&con.flag, "context", "", "talk to the server of this context")
	checkOutput := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := checkOutput(cmd, args); err != nil {
			return err
		}
		if cmd == root { // its help and its version are the same for every server
			return nil
		}
		return con.open(cmd)
	}
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && slices.Contains([]string{"bench", "distill", "simulate", "train", "tune"}, args[0]) {
			return program.Misused(cmd, "%s is a command of toolstream-lab: toolstream-lab %[1]s", args[0])
		}
		return cobra.NoArgs(cmd, args)
	}
	program.AddGroup(root, "first", "First day:", newUp(con), newImport(con), newSearch(con), newFeedback(con), newSources(con), newTools(con), newProviders(con), newMCP(con), newLogin(con), newLogout(con), newWhoami(con), newContext(con))
	program.AddGroup(root, "operate", "Operating:", newServe(con), newStatus(con), newWatch(con), newLimits(con), newDoctor(con), newDLQ(con), newAudit(con), newWeights(con), newUsage(con), newReindex(con), newToken(con), newGrants(con), newTenants(con), newTopics(con), newModels(con), newConfig(con), program.NewVersion(t))
	program.AddGroup(root, "measure", "Measuring (toolstream-lab measures data sets, and trains):", newEval(con), newQuestions(con), newSearches(con))
	root.SetHelpCommandGroupID("operate")
	root.SetCompletionCommandGroupID("operate")
	return root
}
