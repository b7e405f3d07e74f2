package main

import (
	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/config"
)

func newConfig(con *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigPrint(con))
	return cmd
}

func newConfigPrint(con *console) *cobra.Command {
	var path string
	var diff bool
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print every setting, its value and its environment name",
		Long: `Print every setting with the value that is in force: the default, the file over
it, the environment over that. Flags of "up" stand above all three.`,
		Example: "  toolstream config print --config toolstream.yaml --diff",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(path, nil)
			if err != nil {
				return usageError{err, cmd.CommandPath()}
			}
			return con.printConfig(c, diff)
		},
	}
	cmd.Flags().StringVar(&path, "config", "", "configuration file (YAML)")
	cmd.Flags().BoolVar(&diff, "diff", false, "only what differs from the defaults")
	return cmd
}

func (c *console) printConfig(conf config.Config, diff bool) error {
	values := conf.Values()
	t := newTable("SETTING", "VALUE…", "ENVIRONMENT", "MEANING…")
	shown := map[string]string{}
	for _, key := range config.Keys() {
		if diff && values[key.Name] == key.Default {
			continue
		}
		shown[key.Name] = values[key.Name]
		t.add(key.Name, values[key.Name], key.Env(), key.Help)
	}
	if c.json {
		return c.printJSON(shown)
	}
	t.print(c.out, c.width())
	return nil
}
