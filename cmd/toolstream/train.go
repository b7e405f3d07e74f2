package main

import (
	"encoding/json"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/app"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/pkg/schema"
)

// trainFlags are the flags of train.
type trainFlags struct {
	train  app.TrainConfig
	config string
	out    string
}

func newTrain(con *console) *cobra.Command {
	f := trainFlags{train: app.TrainConfig{Settings: evaluation.DefaultSettings()}}
	cmd := &cobra.Command{
		Use:   "train DIR",
		Short: "Learn fusion weights from labelled queries or recorded searches",
		Long: `Learn fusion weights, in this process and with the code that serves, and measure
by cross-validation what they are worth on queries that they were not learned
from. The data set is a folder with tools.jsonl and queries.jsonl, or one with
searches.jsonl and feedback.jsonl, as the topics of these names hold them.
docs/quality.md describes both.`,
		Example: `  toolstream train my-tools --out weights.json
  toolstream eval my-tools --weights weights.json
  toolstream weights promote weights.json
  toolstream train apibank --scoring paper --seeds 5`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.train.Dir = args[0]
			}
			return con.train(cmd, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.train.Dir, "dataset", "", "folder with what is learned from, as DIR")
	flags.StringVar(&f.out, "out", "", "write the weights to this file")
	flags.StringVar(&f.train.Scoring, "scoring", app.ServingScoring, "what the weights are for: serving, paper (the exact scoring of arXiv 2602.05366)")
	flags.Uint64Var(&f.train.Seed, "seed", 0, "decides the order of the pairs and, with --scoring paper, where learning begins")
	flags.IntVar(&f.train.Seeds, "seeds", 1, "with --scoring paper, cross-validate with this many seeds")
	for _, c := range evaluation.Choices() {
		switch c.Name {
		case "documents", "queries", "retrieval", "usage":
			flags.StringVar(c.Value(&f.train.Settings), c.Name, c.Values[0], "as for eval: "+strings.Join(c.Values, ", "))
		}
	}
	flags.StringVar(&f.train.Settings.Split, "split", evaluation.All, "only the queries of this split")
	flags.String("model", "", "embedding model, as embedder.model in the settings (TOOLSTREAM_EMBEDDER_MODEL)")
	flags.StringVar(&f.config, "config", "", "configuration file (YAML); see toolstream config print")
	return cmd
}

func (c *console) train(cmd *cobra.Command, f trainFlags) error {
	if f.train.Dir == "" {
		return misused(cmd, "name the folder with what is learned from")
	}
	if f.train.Scoring != app.ServingScoring && f.train.Scoring != app.PaperScoring {
		return misused(cmd, "--scoring is %s or %s", app.ServingScoring, app.PaperScoring)
	}
	set := map[string]any{}
	if model := cmd.Flags().Lookup("model"); model.Changed {
		set["embedder.model"] = model.Value.String()
	}
	cfg, err := config.Load(f.config, set)
	if err == nil {
		err = f.train.Settings.Validate()
	}
	if err != nil {
		return usageError{err, cmd.CommandPath()}
	}
	f.train.Config = cfg
	p := &evalProgress{con: c, bar: &progress{}}
	trained, err := app.Train(cmd.Context(), f.train, p.report)
	p.finish()
	if err != nil {
		return err
	}
	if err := writeFile(f.out, func(w io.Writer) error { return writeWeights(w, trained.Weights) }); err != nil {
		return err
	}
	return c.printTrained(trained)
}

func writeWeights(w io.Writer, weights schema.Weights) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(weights)
}

// trainedOutput is what train --json prints.
type trainedOutput struct {
	Weights        schema.Weights       `json:"weights"`
	Pairs          int                  `json:"pairs"`
	CrossValidated []evaluation.Metrics `json:"cross_validated,omitempty"` // one a seed
}

func (c *console) printTrained(t *app.Trained) error {
	out := trainedOutput{Weights: t.Weights, Pairs: t.Pairs}
	for _, results := range t.CrossValidated {
		out.CrossValidated = append(out.CrossValidated, evaluation.MeanOf(results))
	}
	if c.json {
		return c.printJSON(out)
	}
	if err := c.printWeights(t.Weights); err != nil {
		return err
	}
	c.printf("\nlearned from %d pairs\n", t.Pairs)
	for _, name := range []string{"ndcg@10", "recall@10"} {
		values := make([]float64, len(out.CrossValidated))
		for i, m := range out.CrossValidated {
			values[i] = m.Of(name)
		}
		if len(values) > 0 {
			mean, deviation := spreadOf(values)
			c.printf("cross-validated %s %.4f, standard deviation over the seeds %.4f\n", name, mean, deviation)
		}
	}
	return nil
}

func spreadOf(values []float64) (mean, deviation float64) {
	n := float64(len(values))
	for _, x := range values {
		mean += x / n
	}
	for _, x := range values {
		deviation += (x - mean) * (x - mean) / n
	}
	return mean, math.Sqrt(deviation)
}
