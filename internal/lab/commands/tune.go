package commands

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/lab/evaluator"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// tuneFlags are the flags of tune.
type tuneFlags struct {
	begin  string
	out    string
	cache  string
	rerank bool

	confidence bool
}

func newTune(t *program.Terminal) *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune DIR…",
		Short: "Search for the fusion weights that do best without labels",
		Long: `Search for the fusion weights that rank several data sets best together: the ones
that serve as long as nothing is learned. Every set counts the same, a flat
optimum wins over a narrow one, and for each set it is told how weights do on it
that were searched for without it.`,
		Example: `  toolstream-lab tune sets/* --model static --out weights.json`,
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return tune(t, cmd, args, f) },
	}
	flags := cmd.Flags()
	addModelFlags(cmd)
	flags.StringVar(&f.begin, "begin", fusion.BuiltinName, "preset to begin with")
	flags.StringVar(&f.cache, "cache", "", "folder that keeps vectors for the next time")
	flags.StringVar(&f.out, "out", "", "write the weights to this file")
	flags.BoolVar(&f.rerank, "rerank", false, "train the classifier of reranking instead, and print it")
	flags.BoolVar(&f.confidence, "confidence", false, "fit the models of confidence instead, and print them")
	for _, flag := range []string{"begin", "out"} {
		cmd.MarkFlagsMutuallyExclusive("rerank", "confidence", flag)
	}
	return cmd
}

func tune(t *program.Terminal, cmd *cobra.Command, dirs []string, f tuneFlags) error {
	cfg, err := modelConfig(cmd)
	if err != nil {
		return err
	}
	if f.rerank {
		return tuneRerank(t, cmd, evaluator.TuneConfig{Dirs: dirs, Config: cfg, Cache: f.cache})
	}
	if f.confidence {
		return tuneConfidence(t, cmd, evaluator.TuneConfig{Dirs: dirs, Config: cfg, Cache: f.cache})
	}
	begin, err := fusion.Preset(f.begin)
	if err != nil {
		return program.Wrong(cmd, err)
	}
	progress, finish := t.Stages()
	tuned, err := evaluator.Tune(cmd.Context(), evaluator.TuneConfig{Dirs: dirs, Begin: begin, Config: cfg, Cache: f.cache}, progress)
	finish()
	if err != nil {
		return err
	}
	if err := writeWeights(f.out, tuned.Weights); err != nil {
		return err
	}
	return t.Show(tuned, func() {
		program.Weights(t, tuned.Weights)
		t.Printf("\n")
		table := program.NewTable("SET", "BEFORE", "AFTER", "LEFT OUT")
		mean := evaluator.TuneResult{Set: "mean", LeftOut: new(float64)}
		for _, s := range tuned.Sets {
			if s.LeftOut == nil {
				s.LeftOut = &s.After // a single set has no others to learn from
			}
			n := float64(len(tuned.Sets))
			mean.Before, mean.After, *mean.LeftOut = mean.Before+s.Before/n, mean.After+s.After/n, *mean.LeftOut+*s.LeftOut/n
			table.Add(s.Set, fmt.Sprintf("%.4f", s.Before), fmt.Sprintf("%.4f", s.After), fmt.Sprintf("%.4f", *s.LeftOut))
		}
		table.Add(mean.Set, fmt.Sprintf("%.4f", mean.Before), fmt.Sprintf("%.4f", mean.After), fmt.Sprintf("%.4f", *mean.LeftOut))
		t.PrintTable(table)
	})
}

// tuneRerank trains the classifier of reranking.
func tuneRerank(t *program.Terminal, cmd *cobra.Command, cfg evaluator.TuneConfig) error {
	progress, finish := t.Stages()
	tuned, err := evaluator.TuneRerank(cmd.Context(), cfg, progress)
	finish()
	if err != nil {
		return err
	}
	return t.Show(tuned, func() {
		table := program.NewTable("SPLIT", "MADE OF", "ONE OWNER", "QUERIES", "OFF", "SINGLE", "MULTI", "AUTO", "LEFT OUT")
		for _, g := range tuned.Groups {
			table.Add(g.Split, g.Made, g.OneOwner, g.Queries, fmt.Sprintf("%.4f", g.Off), fmt.Sprintf("%+.4f", g.Single-g.Off),
				fmt.Sprintf("%+.4f", g.Multi-g.Off), fmt.Sprintf("%+.4f", g.Auto-g.Off), fmt.Sprintf("%+.4f", g.LeftOut-g.Off))
		}
		t.PrintTable(table)
		t.Printf("\n%+v\n", tuned.Classifier)
	})
}

// tuneConfidence fits the models of confidence.
func tuneConfidence(t *program.Terminal, cmd *cobra.Command, cfg evaluator.TuneConfig) error {
	progress, finish := t.Stages()
	tuned, err := evaluator.TuneConfidence(cmd.Context(), cfg, progress)
	finish()
	if err != nil {
		return err
	}
	return t.Show(tuned, func() {
		for _, m := range tuned.Models {
			t.Printf("by %s\n\n", m.By)
			table := program.NewTable("SET", "QUERIES", "FIRST RIGHT", "MEAN", "ECE", "BRIER", "TEN RIGHT", "ECE", "BRIER", "NOTHING FITS", "FOREIGN", "NOTHING FITS")
			for _, s := range m.Sets {
				table.Add(s.Set, s.Queries, decimal(s.First.Right), decimal(s.First.Mean), decimal(s.First.ECE), decimal(s.First.Brier),
					decimal(s.Ten.Right), decimal(s.Ten.ECE), decimal(s.Ten.Brier), decimal(s.NothingFits), s.Foreign, decimal(s.Refused))
			}
			t.PrintTable(table)
			t.Printf("\n")
			bins := program.NewTable("CONFIDENCE", "SHARE", "MEAN", "RIGHT")
			for i, b := range m.Bins {
				bins.Add(fmt.Sprintf("%.1f to %.1f", float64(i)/10, float64(i+1)/10), decimal(b.Share), decimal(b.Mean), decimal(b.Right))
			}
			t.PrintTable(bins)
			t.Printf("\n%+v\n\n", m.Model)
		}
	})
}

func decimal(x float64) string { return fmt.Sprintf("%.3f", x) }
