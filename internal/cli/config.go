package cli

import (
	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/config"
)

func newConfig(con *console) *cobra.Command {
	return program.Group(&cobra.Command{Use: "config", Short: "Show the settings"}, newConfigPrint(con))
}

func newConfigPrint(con *console) *cobra.Command {
	var diff bool
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print every setting, its value and its environment name",
		Long: `Print every setting with the value that is in force: the default, the file over
it, the environment over that. Flags of "up" override all three.`,
		Example: "  toolstream config print --config toolstream.yaml --diff",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := program.LoadConfig(cmd, nil)
			if err != nil {
				return err
			}
			values := c.Values()
			t := program.NewTable("SETTING", "VALUE…", "ENVIRONMENT", "MEANING…")
			shown := map[string]string{}
			for _, key := range config.Keys() {
				if diff && values[key.Name] == key.Default {
					continue
				}
				shown[key.Name] = values[key.Name]
				t.Add(key.Name, values[key.Name], key.Env(), key.Help)
			}
			return con.Show(shown, func() { con.PrintTable(t) })
		},
	}
	cmd.Flags().String("config", "", "configuration file (YAML)")
	cmd.Flags().BoolVar(&diff, "diff", false, "only what differs from the defaults")
	return cmd
}
