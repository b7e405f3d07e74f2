package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/toolstream/toolstream/internal/access/oauth"
	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/kit/files"
)

// contexts are the servers that a user has named, one of them in use.
type contexts struct {
	Current  string                   `yaml:"current,omitempty"`
	Contexts map[string]serverContext `yaml:"contexts,omitempty"`
}

// serverContext is a server with its certificate authority and the client's credentials.
type serverContext struct {
	Server   string       `yaml:"server"`
	Token    string       `yaml:"token,omitempty"`
	CAFile   string       `yaml:"ca_file,omitempty"`
	CertFile string       `yaml:"cert_file,omitempty"`
	KeyFile  string       `yaml:"key_file,omitempty"`
	Login    *oauth.Login `yaml:"login,omitempty"` // in place of a token
}

func contextsFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("where contexts are kept: %w", err)
	}
	return filepath.Join(dir, "toolstream", "contexts.yaml"), nil
}

// readContexts reads the file of contexts. It returns no contexts if the file is missing or
// there is no home folder, as on a server.
func readContexts() (contexts, error) {
	all := contexts{Contexts: map[string]serverContext{}}
	path, err := contextsFile()
	if err != nil {
		return all, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = yaml.Unmarshal(text, &all)
	}
	if err != nil {
		return all, fmt.Errorf("contexts in %s: %w", path, err)
	}
	if all.Contexts == nil {
		all.Contexts = map[string]serverContext{}
	}
	return all, nil
}

func (all contexts) write() error {
	path, err := contextsFile()
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(all)
	if err == nil {
		err = files.Write(path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("contexts in %s: %w", path, err)
	}
	return nil
}

// find returns the context of that name.
func (all contexts) find(name string) (serverContext, error) {
	found, ok := all.Contexts[name]
	if !ok {
		return found, fmt.Errorf("there is no context %q; `toolstream context list` shows the contexts", name)
	}
	return found, nil
}

// or fills empty fields from another context. A certificate and its key go together.
func (s serverContext) or(other serverContext) serverContext {
	s.Server, s.Token, s.CAFile = cmp.Or(s.Server, other.Server), cmp.Or(s.Token, other.Token), cmp.Or(s.CAFile, other.CAFile)
	if s.CertFile == "" && s.KeyFile == "" {
		s.CertFile, s.KeyFile = other.CertFile, other.KeyFile
	}
	s.Login = cmp.Or(s.Login, other.Login)
	return s
}

func newContext(con *console) *cobra.Command {
	return program.Group(&cobra.Command{
		Use:   "context",
		Short: "Name servers, and choose the server that commands talk to",
		Long: `Keep the addresses and tokens of servers under names. Flags and the environment
(TOOLSTREAM_SERVER, TOOLSTREAM_TOKEN, TOOLSTREAM_CA_FILE and its like) go before the context in use.`,
		Example: `  toolstream context add production --server https://tools.example.com --token TOKEN
  toolstream context use production
  toolstream search "book a flight" --context staging`,
	},
		&cobra.Command{
			Use: "add NAME --server URL [--token TOKEN] [--ca-file FILE] [--cert-file FILE --key-file FILE]", Short: "Add or replace a context; the first one is used at once", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return addContext(con, cmd, args[0]) },
		},
		&cobra.Command{
			Use: "use NAME", Short: "Talk to the server of this context from now on", Args: cobra.ExactArgs(1), ValidArgsFunction: completeContexts,
			RunE: func(_ *cobra.Command, args []string) error {
				return changeContexts(func(all *contexts) error {
					_, err := all.find(args[0])
					all.Current = args[0]
					return err
				})
			},
		},
		&cobra.Command{
			Use: "list", Short: "List the contexts", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return listContexts(con) },
		},
		&cobra.Command{
			Use: "remove NAME", Short: "Forget a context", Args: cobra.ExactArgs(1), ValidArgsFunction: completeContexts,
			RunE: func(_ *cobra.Command, args []string) error {
				return changeContexts(func(all *contexts) error {
					_, err := all.find(args[0])
					delete(all.Contexts, args[0])
					if all.Current == args[0] {
						all.Current = ""
					}
					return err
				})
			},
		},
	)
}

// changeContexts reads the contexts and writes them back, under a lock against other
// processes.
func changeContexts(change func(*contexts) error) (err error) {
	path, err := contextsFile()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return err
	}
	release, err := files.LockFolder(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	all, err := readContexts()
	if err == nil {
		err = change(&all)
	}
	if err != nil {
		return err
	}
	return all.write()
}

func addContext(con *console, cmd *cobra.Command, name string) error {
	if !cmd.Flags().Changed("server") {
		return program.Misused(cmd, "say with --server where %s is", name)
	}
	return changeContexts(func(all *contexts) error {
		added := serverContext{Server: con.Server}
		if cmd.Flags().Changed("token") {
			added.Token = con.Token
		}
		for flag, path := range map[string]*string{"ca-file": &added.CAFile, "cert-file": &added.CertFile, "key-file": &added.KeyFile} {
			if !cmd.Flags().Changed(flag) {
				continue
			}
			var err error
			if *path, err = filepath.Abs(cmd.Flags().Lookup(flag).Value.String()); err != nil {
				return err
			}
		}
		all.Contexts[name] = added
		all.Current = cmp.Or(all.Current, name)
		return nil
	})
}

func listContexts(con *console) error {
	all, err := readContexts()
	if err != nil {
		return err
	}
	type line struct {
		Name   string `json:"name"`
		Server string `json:"server"`
		Token  bool   `json:"token"`
		Used   bool   `json:"used"`
	}
	lines := []line{}
	t := program.NewTable("NAME", "SERVER", "TOKEN", "USED")
	for _, name := range slices.Sorted(maps.Keys(all.Contexts)) {
		l := line{name, all.Contexts[name].Server, all.Contexts[name].Token != "" || all.Contexts[name].Login != nil, name == all.Current}
		lines = append(lines, l)
		t.Add(l.Name, l.Server, mark(l.Token), mark(l.Used))
	}
	return con.Show(map[string]any{"contexts": lines}, func() { con.PrintTable(t) })
}

func mark(yes bool) string {
	if yes {
		return "yes"
	}
	return ""
}

func completeContexts(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	all, err := readContexts()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(all.Contexts)), cobra.ShellCompDirectiveNoFileComp
}
