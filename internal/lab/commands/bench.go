package commands

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/importer"
	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/lab/bench"
	"github.com/toolstream/toolstream/pkg/client"
)

func newBench(t *program.Terminal) *cobra.Command {
	var opt bench.Options
	var paths []string
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure rate, latency and memory of this build on this machine",
		Long: `Measure this build on this machine, in this process and a scratch folder: how fast
tools are taken and become searchable, how long a search takes, alone, with many callers and
during an import, how much memory is needed, how long a start takes. Each figure is compared
with a bare loop in the same run: of a rate a higher ratio is better, of a time or memory a
lower ratio.`,
		Example: `  toolstream-lab bench
  toolstream-lab bench --tools 64000 --queries 2000
  toolstream-lab bench --import openapi/ --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if opt.Tools < 1 || opt.Queries < 1 {
				return program.Misused(cmd, "--tools is %d and --queries %d; both are 1 or more", opt.Tools, opt.Queries)
			}
			remove, err := prepare(t, cmd, paths, &opt)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, remove()) }()
			report, err := bench.Run(cmd.Context(), opt)
			if err != nil {
				return err
			}
			return t.Show(report, func() {
				t.Printf("%s; %d tools, %d queries\n\n", report.Machine, report.Tools, report.Queries)
				table := program.NewTable("WHAT", "MEASURED", "BARE", "RATIO", "BARE IS…")
				for _, f := range report.Figures {
					bare, ratio := "", ""
					if f.Bare != "" {
						bare, ratio = fmt.Sprintf("%.4g %s", f.Floor, f.Unit), fmt.Sprintf("%.2f", f.Ratio)
					}
					table.Add(f.Name, fmt.Sprintf("%.4g %s", f.Value, f.Unit), bare, ratio, f.Bare)
				}
				t.PrintTable(table)
			})
		},
	}
	cmd.Flags().IntVar(&opt.Tools, "tools", 5000, "made-up tools to measure with")
	cmd.Flags().IntVar(&opt.Queries, "queries", 500, "searches to measure")
	cmd.Flags().StringArrayVar(&paths, "import", nil, "measure with these documents instead (repeatable)")
	return cmd
}

// prepare makes the scratch folder of a measurement, which remove removes, and sets how it reports
// its steps and imports paths.
func prepare(t *program.Terminal, cmd *cobra.Command, paths []string, opt *bench.Options) (remove func() error, err error) {
	if opt.Dir, err = os.MkdirTemp("", "toolstream-"+cmd.Name()+"-"); err != nil {
		return nil, err
	}
	opt.Notify = func(step string) { t.Notef("%s …\n", step) }
	if len(paths) > 0 {
		opt.Import = func(server, token string) error {
			_, err := importer.Run(cmd.Context(), t, &client.Client{Server: server, Token: token}, paths, importer.Options{Wait: true})
			return err
		}
	}
	return func() error { return os.RemoveAll(opt.Dir) }, nil
}
