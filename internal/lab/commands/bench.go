package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/lab/bench"
)

func newBench(con *console) *cobra.Command {
	var opt bench.Options
	var paths []string
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure rate, latency and memory of this build on this machine",
		Long: `Measure this build on this machine, in this process and a scratch folder: how fast
tools are taken and become searchable, how long a search takes, alone, with many callers and beside an
import, how much memory is needed, how long a start takes. Beside each figure stands
what a bare loop reaches in the same run, and the ratio of this build to that: more is
better where it is a rate, less where it is a time or memory.`,
		Example: `  toolstream bench
  toolstream bench --tools 64000 --queries 2000
  toolstream bench --import openapi/ --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if opt.Tools < 1 || opt.Queries < 1 {
				return misused(cmd, "--tools is %d and --queries %d; both are 1 or more", opt.Tools, opt.Queries)
			}
			if opt.Dir, err = os.MkdirTemp("", "toolstream-bench-"); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, os.RemoveAll(opt.Dir)) }()
			opt.Notify = func(step string) { con.notef("%s …\n", step) }
			if len(paths) > 0 {
				opt.Import = func(server, token string) error {
					own := *con
					own.server, own.token = server, token
					_, err := own.importAll(cmd.Context(), paths, importFlags{format: "auto", wait: true})
					return err
				}
			}
			report, err := bench.Run(cmd.Context(), opt)
			if err != nil {
				return err
			}
			return con.show(report, func() { con.printBench(report) })
		},
	}
	cmd.Flags().IntVar(&opt.Tools, "tools", 5000, "made-up tools to measure with")
	cmd.Flags().IntVar(&opt.Queries, "queries", 500, "searches to measure")
	cmd.Flags().StringArrayVar(&paths, "import", nil, "measure with these documents instead (repeatable)")
	return cmd
}

func (c *console) printBench(r bench.Report) {
	c.printf("%s; %d tools, %d queries\n\n", r.Machine, r.Tools, r.Queries)
	t := newTable("WHAT", "MEASURED", "BARE", "RATIO", "BARE IS…")
	for _, f := range r.Figures {
		bare, ratio := "", ""
		if f.Bare != "" {
			bare, ratio = fmt.Sprintf("%.4g %s", f.Floor, f.Unit), fmt.Sprintf("%.2f", f.Ratio)
		}
		t.add(f.Name, fmt.Sprintf("%.4g %s", f.Value, f.Unit), bare, ratio, f.Bare)
	}
	c.printTable(t)
}
