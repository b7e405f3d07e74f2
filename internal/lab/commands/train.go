package commands

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/lab/evaluator"
)

// trainFlags are the flags of train.
type trainFlags struct {
	train evaluator.TrainConfig
	out   string
}

func newTrain(t *program.Terminal) *cobra.Command {
	f := trainFlags{train: evaluator.TrainConfig{Settings: evaluator.DefaultSettings()}}
	cmd := &cobra.Command{
		Use:   "train DIR",
		Short: "Learn fusion weights from labelled queries or recorded searches",
		Long: `Learn fusion weights, in this process and with the code that serves, and measure
by cross-validation what they are worth on queries that they were not learned
from. The data set is a folder with tools.jsonl and queries.jsonl, or one with
searches.jsonl and feedback.jsonl, as the topics of these names hold them.
docs/evaluate.md describes both.`,
		Example: `  toolstream-lab train my-tools --out weights.json
  toolstream-lab eval my-tools --weights weights.json
  toolstream weights promote weights.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.train.Dir = args[0]
			}
			return train(t, cmd, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.train.Dir, "dataset", "", "folder with the data set to learn from, as DIR")
	flags.StringVar(&f.out, "out", "", "write the weights to this file")
	flags.Uint64Var(&f.train.Seed, "seed", 0, "decides the order of the pairs")
	for _, c := range evaluator.Choices() {
		switch c.Name {
		case "documents", "queries", "retrieval", "usage":
			flags.StringVar(c.Value(&f.train.Settings), c.Name, c.Values[0], "as for eval: "+strings.Join(c.Values, ", "))
		}
	}
	flags.StringVar(&f.train.Settings.Split, "split", evaluator.All, "only the queries of this split")
	addModelFlags(cmd)
	return cmd
}

func train(t *program.Terminal, cmd *cobra.Command, f trainFlags) (err error) {
	if f.train.Dir == "" {
		return program.Misused(cmd, "name the folder with the data set to learn from")
	}
	f.train.Settings.Weights = evaluator.Learned
	if err := f.train.Settings.Validate(); err != nil {
		return program.Wrong(cmd, err)
	}
	if f.train.Config, err = modelConfig(cmd); err != nil {
		return err
	}
	progress, finish := t.Stages()
	trained, err := evaluator.Train(cmd.Context(), f.train, progress)
	finish()
	if err != nil {
		return err
	}
	if err := writeWeights(f.out, trained.Weights); err != nil {
		return err
	}
	return t.Show(trained, func() {
		program.Weights(t, trained.Weights)
		t.Printf("\nlearned from %d pairs\n", trained.Pairs)
		if m := trained.CrossValidated; m != nil {
			t.Printf("cross-validated ndcg@10 %.4f, recall@10 %.4f\n", m.Of("ndcg@10"), m.Of("recall@10"))
		}
	})
}
