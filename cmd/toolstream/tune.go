package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/app"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// tuneFlags are the flags of tune.
type tuneFlags struct {
	config string
	begin  string
	out    string
	cache  string
}

func newTune(con *console) *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune DIR…",
		Short: "Search for the fusion weights that do best without labels",
		Long: `Search for the fusion weights that rank several data sets best together: the ones
that serve as long as nothing is learned. Every set counts the same, a flat
optimum wins over a narrow one, and for each set it is told how weights do on it
that were searched for without it.`,
		Example: `  toolstream tune sets/* --model static --out weights.json`,
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return con.tune(cmd, args, f) },
	}
	flags := cmd.Flags()
	flags.String("model", "", "embedding model, as embedder.model in the settings (TOOLSTREAM_EMBEDDER_MODEL)")
	flags.StringVar(&f.config, "config", "", "configuration file (YAML); see toolstream config print")
	flags.StringVar(&f.begin, "begin", fusion.BuiltinName, "preset to begin with")
	flags.StringVar(&f.cache, "cache", "", "folder in which vectors are kept for the next time")
	flags.StringVar(&f.out, "out", "", "write the weights to this file")
	return cmd
}

func (c *console) tune(cmd *cobra.Command, dirs []string, f tuneFlags) error {
	set := map[string]any{}
	if model := cmd.Flags().Lookup("model"); model.Changed {
		set["embedder.model"] = model.Value.String()
	}
	cfg, err := config.Load(f.config, set)
	if err != nil {
		return usageError{err, cmd.CommandPath()}
	}
	begin, err := fusion.Preset(f.begin)
	if err != nil {
		return usageError{err, cmd.CommandPath()}
	}
	p := &evalProgress{con: c, bar: &progress{}}
	tuned, err := app.Tune(cmd.Context(), app.TuneConfig{Dirs: dirs, Begin: begin, Config: cfg, Cache: f.cache}, p.report)
	p.finish()
	if err != nil {
		return err
	}
	if err := writeFile(f.out, func(w io.Writer) error { return writeWeights(w, tuned.Weights) }); err != nil {
		return err
	}
	return c.printTuned(tuned)
}

// tunedOutput is what tune --json prints.
type tunedOutput struct {
	Model   string         `json:"model"`
	Weights schema.Weights `json:"weights"`
	Sets    []tunedSet     `json:"sets"`
}

// tunedSet is the quality on one set: the mean of NDCG@5 and NDCG@10.
type tunedSet struct {
	Set     string   `json:"set"`
	Before  float64  `json:"before"`
	After   float64  `json:"after"`
	LeftOut *float64 `json:"left_out,omitempty"` // of weights that were searched for without it
}

func (c *console) printTuned(t *app.Tuned) error {
	out := tunedOutput{Model: t.Model, Weights: t.Weights}
	for i, name := range t.Sets {
		set := tunedSet{Set: name, Before: t.Before[i], After: t.After[i]}
		if len(t.LeftOut) > 0 {
			set.LeftOut = &t.LeftOut[i]
		}
		out.Sets = append(out.Sets, set)
	}
	if c.json {
		return c.printJSON(out)
	}
	if err := c.printWeights(t.Weights); err != nil {
		return err
	}
	c.printf("\n")
	table := newTable("SET", "BEFORE", "AFTER", "LEFT OUT")
	row := func(name string, before, after float64, leftOut *float64) {
		left := ""
		if leftOut != nil {
			left = fmt.Sprintf("%.4f", *leftOut)
		}
		table.add(name, fmt.Sprintf("%.4f", before), fmt.Sprintf("%.4f", after), left)
	}
	for _, s := range out.Sets {
		row(s.Set, s.Before, s.After, s.LeftOut)
	}
	var left *float64
	if len(t.LeftOut) > 0 {
		mean := meanOf(t.LeftOut)
		left = &mean
	}
	row("mean", meanOf(t.Before), meanOf(t.After), left)
	table.print(c.out, c.width())
	return nil
}

func meanOf(values []float64) float64 {
	mean, _ := spreadOf(values)
	return mean
}
