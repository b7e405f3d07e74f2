package commands

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/lab/bench"
)

func newKnown(t *program.Terminal) *cobra.Command {
	var n int
	var seed uint64
	cmd := &cobra.Command{
		Use:   "known PATH…",
		Short: "Measure whether tools are found by their names and rare words",
		Long: `Import documents into a toolstream of this process and a scratch folder, and search for tools
that a caller knows: by their names as they are, in camel case, in lower case, in words and
with one slip of the keyboard, and by words that one tool alone has, alone and with the last word
of the name of another tool. The result is the share
of queries with the right tool first, among three and among ten. --json lists the others.`,
		Example: `  toolstream-lab known tools.jsonl
  toolstream-lab known openapi/ --queries 1000 --seed 2 --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) (err error) {
			if n < 1 {
				return program.Misused(cmd, "--queries is %d; it is 1 or more", n)
			}
			var opt bench.Options
			remove, err := prepare(t, cmd, paths, &opt)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, remove()) }()
			known, err := bench.MeasureKnown(cmd.Context(), opt, n, seed)
			if err != nil {
				return err
			}
			return t.Show(known, func() {
				t.Printf("%d tools, seed %d\n\n", known.Tools, known.Seed)
				table := program.NewTable("QUERIES", "N", "FIRST", "AMONG 3", "AMONG 10")
				for _, k := range known.Kinds {
					table.Add(k.Kind, fmt.Sprint(k.Queries), fmt.Sprintf("%.3f", k.First), fmt.Sprintf("%.3f", k.Three), fmt.Sprintf("%.3f", k.Ten))
				}
				t.PrintTable(table)
			})
		},
	}
	cmd.Flags().IntVar(&n, "queries", 500, "names, and words, to search for")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "seed of the choice")
	return cmd
}
