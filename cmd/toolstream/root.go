package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/certfile"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/pkg/client"
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
	flags.StringVar(&con.server, "server", "", "address of the server (TOOLSTREAM_SERVER, or the context in use; default "+defaultServer+")")
	flags.StringVar(&con.token, "token", "", "credential, where the server asks for one (TOOLSTREAM_TOKEN, or the context in use)")
	flags.StringVar(&con.caFile, "ca-file", "", "`FILE` of certificates that an https server's is checked by (TOOLSTREAM_CA_FILE, or the context in use; default the system's)")
	flags.StringVar(&con.certFile, "cert-file", "", "`FILE` of a client certificate, in place of a token (TOOLSTREAM_CERT_FILE, or the context in use)")
	flags.StringVar(&con.keyFile, "key-file", "", "`FILE` of its key (TOOLSTREAM_KEY_FILE, or the context in use)")
	flags.StringVar(&con.context, "context", "", "talk to the server of this context")
	flags.StringVarP(&con.output, "output", "o", asTable, "how to print data: "+strings.Join(outputs(), ", "))
	flags.BoolVar(&con.json, "json", false, "short for -o json")
	flags.BoolVar(&con.quiet, "no-progress", false, "show no progress bar")
	fixed(root, "output", outputs()...)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if con.json {
			con.output = asJSON
		}
		if err := knownWord(cmd, "--output", con.output, outputs()...); err != nil {
			return err
		}
		if err := con.chooseServer(); err != nil {
			return err
		}
		if err := con.chooseCertificates(cmd); err != nil {
			return err
		}
		if con.http = con.transport; con.session != nil {
			return con.useLogin(*con.session)
		}
		return nil
	}
	addGroup(root, "first", "First day:", newUp(con), newImport(con), newSearch(con), newFeedback(con), newSources(con), newTools(con), newProviders(con), newMCP(con), newLogin(con), newLogout(con), newWhoami(con), newContext(con))
	addGroup(root, "operate", "Operating:", newServe(con), newStatus(con), newWatch(con), newLimits(con), newDoctor(con), newDLQ(con), newAudit(con), newWeights(con), newUsage(con), newReindex(con), newToken(con), newGrants(con), newTenants(con), newTopics(con), newModels(con), newConfig(con), newVersion(con))
	addGroup(root, "lab", "Measuring and training:", newEval(con), newQuestions(con), newSearches(con), newSimulate(con), newTrain(con), newTune(con), newDistill(con), newBench(con))
	root.AddCommand(newPackageFiles())
	root.SetHelpCommand(newHelp())
	root.SetHelpCommandGroupID("operate")
	root.SetCompletionCommandGroupID("operate")
	explainErrors(root)
	return root
}

// addGroup adds commands under a heading of the help.
func addGroup(root *cobra.Command, id, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = id
		root.AddCommand(cmd)
	}
}

// group makes a command that only holds others.
func group(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args, cmd.RunE = cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
	return cmd
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

// explainErrors puts the name of the command before every error, and turns every wrong
// call into a usageError that names the command whose help tells more.
func explainErrors(cmd *cobra.Command) {
	path, run := cmd.CommandPath, cmd.RunE
	cmd.RunE = func(c *cobra.Command, args []string) error {
		err := run(c, args)
		if err == nil || errors.As(err, new(usageError)) {
			return err
		}
		err = fmt.Errorf("%s: %w", strings.TrimPrefix(path(), c.Root().Name()+" "), err)
		if what := remedy(err); what != "" {
			err = fmt.Errorf("%w: %s", err, what)
		}
		return err
	}
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
		explainErrors(sub)
	}
}

// remedy says what to do where the server is not reached or does not know who calls.
func remedy(err error) string {
	var p *client.Problem
	switch {
	case errors.As(err, &p) && p.Status == http.StatusUnauthorized:
		return "give a token with --token or TOOLSTREAM_TOKEN, or log in with `toolstream login`"
	case !errors.Is(err, client.ErrNoServer):
		return ""
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "name the file of that authority with --ca-file"
	}
	return "start one with `toolstream up`, or name another with --server"
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

// misused returns a usageError for a check that cobra cannot make.
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

// loadConfig returns the settings that the flag --config and flags of single settings,
// with the keys of these, name.
func loadConfig(cmd *cobra.Command, keys map[string]string) (config.Config, error) {
	set := map[string]any{}
	for name, key := range keys {
		if flag := cmd.Flags().Lookup(name); flag.Changed {
			set[key] = flag.Value.String()
		}
	}
	cfg, err := config.Load(cmd.Flags().Lookup("config").Value.String(), set)
	if err != nil {
		return cfg, usageError{err, cmd.CommandPath()}
	}
	return cfg, nil
}

const configHelp = "configuration `FILE` (YAML); see toolstream config print"

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

// chooseCertificates decides by what the certificate of the server is checked, and which one
// it is shown.
func (c *console) chooseCertificates(cmd *cobra.Command) error {
	c.transport = http.DefaultClient
	if c.caFile == "" && c.certFile == "" && c.keyFile == "" {
		return nil
	}
	authorities, err := certfile.Pool(c.caFile)
	if err != nil {
		return misused(cmd, "certificates to check the server by: %v", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}
	if c.certFile != "" || c.keyFile != "" {
		own, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
		if err != nil {
			return misused(cmd, "the client certificate of --cert-file and --key-file: %v", err)
		}
		transport.TLSClientConfig.Certificates = []tls.Certificate{own}
	}
	c.transport = &http.Client{Transport: transport}
	return nil
}

func (c *console) client() *client.Client {
	return &client.Client{Server: c.server, Token: c.token, HTTP: c.http}
}
