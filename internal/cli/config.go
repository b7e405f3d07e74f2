package main

import (
	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/config"
)

func newConfig(con *console) *cobra.Command {
	return group(&cobra.Command{Use: "config", Short: "Show the settings"}, newConfigPrint(con))
}

func newConfigPrint(con *console) *cobra.Command {
	var diff bool
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print every setting, its value and its environment name",
		Long: `Print every setting with the value that is in force: the default, the file over
it, the environment over that. Flags of "up" stand above all three.`,
		Example: "  toolstream config print --config toolstream.yaml --diff",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(cmd, nil)
			if err != nil {
				return err
			}
			return con.printConfig(c, diff)
		},
	}
	cmd.Flags().String("config", "", "configuration file (YAML)")
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
	return c.show(shown, func() { c.printTable(t) })
}
